"""A worker process: it opens a copy of a server and executes chunks until it ends."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import tempfile
import threading
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from blsnb.errors import BlsnbError
from blsnb.evaluation.keeper import Keeper
from blsnb.evaluation.plain import Chunk, EvaluationSettings, RowResult
from blsnb.evaluation.work.frames import Frames
from blsnb.evaluation.work.rows_in_server import RowsInServer
from blsnb.evaluation.work.server_copy import ServerCopy
from blsnb.parts.server_parts import ServerParts
from blsnb.run import Run

OWNER_POLL_S = 1.0
"""Seconds between two checks that the owner still runs."""
END_S = 2.0
"""Maximum seconds in which models are finalized after the owner has ended."""


class Opening(NamedTuple):
    """The first message to a worker."""

    copy: ServerCopy
    folder: Path
    settings: EvaluationSettings


class Ready(NamedTuple):
    """The first message of a worker: its models are loaded."""


class Failed(NamedTuple):
    """A worker's message that it can execute no chunk."""

    text: str


class CopiedServer:
    """A copy of a server in this process, which executes chunks.

    Raises
    ------
    BlsnbError
        A model does not load in this process, or the settings are invalid.
    """

    def __init__(
        self, copy: ServerCopy, folder: Path, settings: EvaluationSettings
    ) -> None:
        self._parts: ServerParts = copy.open(folder)
        self._keeper = Keeper(settings.keep)
        try:
            self._rows = RowsInServer(self._parts, settings)
        except BaseException:
            self.close()
            raise

    def run(self, chunk: Chunk) -> list[RowResult]:
        """Execute a chunk; runs that are kept are the contents of files."""
        results = self._rows.run(chunk)
        for result in results:
            self._keeper.offer(result, {})
            run, result.run = result.run, None
            is_kept = chunk.whole or result.number in self._keeper
            if is_kept and isinstance(run, Run):
                result.run = run_bytes(run)
        return results

    def close(self) -> None:
        """Finalize the models."""
        self._parts.lifetime.close()


def run_bytes(run: Run) -> bytes:
    """Return the content of a run's ``.blsrun`` file."""
    with tempfile.TemporaryDirectory(prefix="blsnb-run-") as folder:
        return run.save(Path(folder) / "run.blsrun").read_bytes()


class Worker:
    """Executes the chunks that its owner sends.

    A thread reads from the owner, so that neither side waits for a full pipe, and ends
    the process when the owner has ended: also while a model never returns.
    """

    def __init__(self, frames: Frames, owner: int) -> None:
        self._frames = frames
        self._owner = owner
        self._received: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._done = threading.Event()

    def run(self) -> None:
        """Execute chunks until the owner closes the connection or ends."""
        threading.Thread(target=self._read, name="blsnb owner", daemon=True).start()
        try:
            with self._opened(self._received.get()) as server:
                self._frames.send(Ready())
                while (chunk := self._received.get()) is not None:
                    self._frames.send(server.run(chunk))
        except Exception as error:
            self._report(f"{type(error).__name__}: {error}")
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

    def _report(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._frames.send(Failed(text))

    def _read(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            while self._owner_runs():
                if self._frames.connection.poll(OWNER_POLL_S):
                    self._received.put(self._frames.receive())
        self._skip_rest()
        if not self._done.wait(END_S):
            # Of the worker and its models' own processes: it leads its group.
            os.killpg(0, signal.SIGKILL)

    def _skip_rest(self) -> None:
        """Drop the chunks that were not begun, and end the work."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._received.get_nowait()
        self._received.put(None)

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
    frames = Frames(Connection(descriptor))
    try:
        Worker(frames, owner).run()
    finally:
        frames.close()
