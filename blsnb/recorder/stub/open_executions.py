"""Executions that are not complete, and the end of each."""

from __future__ import annotations

import random
import threading
import time
from typing import TYPE_CHECKING

from blsnb.recorder.stub.executions import RUNNING, RecordedExecution
from blsnb.recorder.stub.owners import Owners

if TYPE_CHECKING:
    from collections.abc import Callable

    from blsnb.recorder.stub.executions import RecordedCall
    from blsnb.recorder.stub.settings import RecorderSettings

_MAX_OPEN = 4096
"""Maximum number of executions that wait for a final response."""


class OpenExecutions:
    """Opens executions, counts what each waits for, and hands over complete ones.

    Parameters
    ----------
    settings
        Which of them are recorded.
    done
        Called with each complete execution that is kept.
    """

    def __init__(
        self, settings: RecorderSettings, done: Callable[[RecordedExecution], None]
    ) -> None:
        self._settings = settings
        self._done = done
        self._lock = threading.RLock()
        # The model's own random numbers must not change.
        self.draw = random.Random().random
        """Return a random number; an execution is recorded if it is below the rate."""
        self.owners = Owners(settings.trace)
        self._unrecorded_runs = False
        """Whether an execution that is not recorded may run after its `execute`."""

    def accompany(self, afterwards: bool) -> None:
        """Note an execution that is not recorded and runs beside the open ones.

        Parameters
        ----------
        afterwards
            Whether it may also run beside those that are opened later.
        """
        with self._lock:
            self._unrecorded_runs |= afterwards
            for other in self.owners.open.values():
                other.alone = False

    def open(self, calls: list[RecordedCall]) -> RecordedExecution:
        """Return the execution of received requests."""
        with self._lock:
            known = self.owners.open
            execution = RecordedExecution(
                calls, not known and not self._unrecorded_runs
            )
            for other in known.values():
                other.alone = False
            known[execution.number] = execution
            execution.pending += len(calls)
            if len(known) > _MAX_OPEN:
                self._evict(next(iter(known)))
        return execution

    def add(self, execution: RecordedExecution, call: RecordedCall) -> None:
        """Add a BLS call, which its execution waits for."""
        with self._lock:
            execution.made.append(call)
            execution.pending += 1

    def of(self, call: RecordedCall) -> RecordedExecution | None:
        """Return the execution of a request that is not complete."""
        return self.owners.open.get(call.execution)

    def close(self, execution: RecordedExecution, call: RecordedCall) -> None:
        """End a request once."""
        if self.end(call):
            self.complete(execution)

    def end(self, call: RecordedCall) -> bool:
        """Set the end of a call; return whether it had none."""
        with self._lock:
            if call.end_ns:
                return False
            call.end_ns = time.monotonic_ns()
            return True

    def complete(self, execution: RecordedExecution) -> None:
        """Count one thing less to wait for; hand over an execution without any."""
        with self._lock:
            execution.pending -= 1
            if execution.pending or execution.evicted:
                return
            self.owners.open.pop(execution.number, None)
        if execution.is_wanted(self._settings):
            self._done(execution)

    def flush(self) -> None:
        """Hand over all executions as they are."""
        with self._lock:
            for number in list(self.owners.open):
                self._evict(number)

    def _evict(self, number: int) -> None:
        execution = self.owners.open.pop(number)
        execution.evicted = True
        for call in execution.all_calls:
            if not call.end_ns:
                call.flags |= RUNNING
        if execution.is_wanted(self._settings):
            self._done(execution)
