"""A worker process: it opens a copy of a server and executes chunks until it ends."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import threading
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from blsnb.errors import BlsnbError
from blsnb.evaluation.work.frames import receive, send
from blsnb.evaluation.work.server_copy import CopiedServer, Opening

OWNER_POLL_S = 1.0
"""Seconds between two checks that the owner still runs."""
END_S = 2.0
"""Maximum seconds in which models are finalized after the owner has ended."""


class Ready(NamedTuple):
    """The first message of a worker: its models are loaded."""


class Failed(NamedTuple):
    """A worker's message that it can execute no chunk."""

    text: str


class RowWorker:
    """Executes the chunks that its owner sends.

    A thread reads from the owner, so that neither side waits for a full pipe, and ends
    the process when the owner has ended: also while a model never returns.
    """

    def __init__(self, connection: Connection[Any, Any], owner: int) -> None:
        self._connection = connection
        self._owner = owner
        self._received: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._done = threading.Event()

    def run(self) -> None:
        """Execute chunks until the owner closes the connection or ends."""
        threading.Thread(target=self._read, name="blsnb owner", daemon=True).start()
        try:
            with self._opened(self._received.get()) as server:
                send(self._connection, Ready())
                while (chunk := self._received.get()) is not None:
                    send(self._connection, server.run(chunk))
        except Exception as error:
            with contextlib.suppress(OSError):
                send(self._connection, Failed(f"{type(error).__name__}: {error}"))
        finally:
            self._done.set()

    @contextlib.contextmanager
    def _opened(self, opening: Opening | None) -> Iterator[CopiedServer]:
        if opening is None:
            raise BlsnbError("the owner has ended")
        server = CopiedServer(*opening)
        try:
            yield server
        finally:
            server.close()

    def _read(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            while self._owner_runs():
                if self._connection.poll(OWNER_POLL_S):
                    self._received.put(receive(self._connection))
        # Drop the chunks that were not begun, and end the work.
        with contextlib.suppress(queue.Empty):
            while True:
                self._received.get_nowait()
        self._received.put(None)
        if not self._done.wait(END_S):
            # Of the worker and its models' own processes: it leads its group.
            os.killpg(0, signal.SIGKILL)

    def _owner_runs(self) -> bool:
        # A forked child of the owner may keep the connection open.
        return os.getppid() == self._owner


def main(descriptor: int, owner: int) -> None:
    """Run a worker.

    Parameters
    ----------
    descriptor
        File descriptor of its end of the pipe.
    owner
        Process id of the owner.
    """
    # Its owner decides when an evaluation is interrupted.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.set_inheritable(descriptor, False)
    with Connection(descriptor) as connection:
        RowWorker(connection, owner).run()
