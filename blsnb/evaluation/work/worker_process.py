"""One worker as its owner sees it; started, and always ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Connection, Pipe
from typing import Any

from blsnb.errors import BlsnbError
from blsnb.evaluation.plain import Chunk, RowResult
from blsnb.evaluation.work.frames import receive, send
from blsnb.evaluation.work.server_copy import Opening
from blsnb.evaluation.work.worker import Failed, Ready
from blsnb.files.interrupts import uninterrupted
from blsnb.files.owned import Creator

STOP_S = 5.0
"""Maximum seconds in which a worker finalizes its models."""
KILL_S = 5.0
"""Maximum seconds in which a killed worker ends."""
_OUTPUT_END = 2000
"""Characters at the end of a worker's output that an error contains."""
_COMMAND = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from blsnb.evaluation.work.worker import main; "
    "main(int(sys.argv[2]), int(sys.argv[3]))"
)


class WorkerEnded(Exception):
    """A worker's process has ended."""


class WorkerProcess:
    """A process that executes chunks.

    It belongs to a session of its own: Ctrl-C in a terminal does not reach it.
    """

    _process: subprocess.Popen[bytes]
    connection: Connection[Any, Any]
    """To wait for a message or for the end of the process."""

    def __init__(self, opening: Opening) -> None:
        self._creator = Creator()
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 (kill closes it)
        self._arrived: list[Any] = []
        self.is_ready = False
        try:
            # An interrupt must not lose a process that was just started.
            uninterrupted(self._start)
            send(self.connection, opening)
        except BaseException:
            self.kill()
            raise

    def __repr__(self) -> str:
        return f"<WorkerProcess: pid {self._process.pid}>"

    def _start(self) -> None:
        self.connection, theirs = Pipe()
        try:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-c", _COMMAND, json.dumps(sys.path)),
                    *(str(theirs.fileno()), str(os.getpid())),
                ],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        finally:
            theirs.close()

    @property
    def pid(self) -> int:
        """Id of the process, and of its process group."""
        return self._process.pid

    @property
    def has_message(self) -> bool:
        """Whether `receive` returns or raises at once."""
        return bool(self._arrived) or self._has_ended

    @property
    def _has_ended(self) -> bool:
        return self._process.poll() is not None

    def send(self, chunk: Chunk) -> None:
        """Send a chunk.

        Raises
        ------
        WorkerEnded
            The process has ended.
        Exception
            A row cannot be pickled; nothing was sent.
        """
        try:
            send(self.connection, chunk)
        except OSError as error:
            raise WorkerEnded from error

    def receive(self) -> list[RowResult] | Ready:
        """Return the next message, which has begun to arrive.

        Raises
        ------
        WorkerEnded
            The process has ended.
        BlsnbError
            The worker cannot open its models, or execute any row.
        """
        try:
            # A process that a model forked may hold the connection open.
            if self._has_ended and not self._arrived and not self.connection.poll():
                raise EOFError
            if not self._arrived:
                # An interrupt must lose neither a message nor a part of it.
                uninterrupted(lambda: self._arrived.append(receive(self.connection)))
        except (EOFError, OSError) as error:
            raise WorkerEnded from error
        message = self._arrived.pop()
        if isinstance(message, Failed):
            raise BlsnbError(f"a worker process cannot evaluate: {message.text}")
        return message  # type: ignore[no-any-return] # what Worker sends

    def ending(self) -> str:
        """Return how the process ended, which `kill` has awaited."""
        status = self._process.returncode
        if status is None:
            return f"was killed, and has not ended after {KILL_S:g} s"
        if status >= 0:
            return f"ended with exit status {status}"
        return f"was killed by {signal.Signals(-status).name}"

    def output_end(self) -> str:
        """Return the end of what the worker and its models printed."""
        self._output.seek(0)
        return self._output.read().decode(errors="replace")[-_OUTPUT_END:]

    def leave(self) -> None:
        """Close the connection: the worker ends after its current chunk."""
        if self._creator.is_current_process:
            self.connection.close()

    def close(self, deadline: float) -> None:
        """Let the worker finalize its models until a time, then kill it."""
        if not self._creator.is_current_process:
            return
        try:
            self.leave()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(max(0.0, deadline - time.monotonic()))
        finally:
            self.kill()

    def kill(self) -> None:
        """Kill the worker and the processes of its models; safe to repeat."""
        if not self._creator.is_current_process:
            return
        if hasattr(self, "connection"):
            self.connection.close()
        if hasattr(self, "_process"):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            # A process that waits for a device ends when its kernel lets it.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(KILL_S)
        self._output.close()
