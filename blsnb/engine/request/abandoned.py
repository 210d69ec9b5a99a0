"""Executions that outlive their requests."""

from __future__ import annotations

import logging
import operator
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from blsnb.clock.pausing_clock import CLOCK
from blsnb.engine.request.inflight import Execution
from blsnb.engine.request.interrupts import in_model
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.threads import async_exception, until_left
from blsnb.engine.threads.repetition import Repetition
from blsnb.engine.threads.watcher import Watcher
from blsnb.errors import OutOfResourcesError
from blsnb.trace.run_record import RunRecord

_PAUSE_S = 0.02
"""Seconds between two looks at the executions."""
_JOIN_S = 1.0
_HOOK_THREAD = operator.attrgetter("hook_thread_id")
_log = logging.getLogger(__name__)


class _Abandoned:
    """An execution without a client, and when it is interrupted again."""

    def __init__(self, execution: Execution, root: RootRequest) -> None:
        self.execution = execution
        self.root = root
        age_ns = CLOCK.now_ns() - execution.call.compute_start_ns
        self.since = _time_of_day(time.time() - age_ns / 1e9)
        self.line = line_of(execution)
        self._repetition: Repetition | None = None

    @property
    def is_running(self) -> bool:
        """Whether the execution has not ended."""
        return self.execution.instance.execution is self.execution

    def interrupt(self, now_ns: int) -> None:
        """Interrupt the model now, after the grace, and then with every pause."""
        repetition = self._repetition
        if repetition is None:
            self._repetition = Repetition(now_ns)
        elif not repetition.is_due(now_ns):
            return
        self._unwind(repetition is not None)

    def _unwind(self, is_repeated: bool) -> None:
        """Leave the model, unless it waits for a BLS request: that one ends first."""
        execution, root = self.execution, self.root
        thread_id = execution.hook_thread_id
        frame = sys._current_frames().get(thread_id)
        if frame is None or execution.blocked_on is not None:
            return
        if in_model(frame, root.folders(), is_repeated):
            execution.is_interrupted = True
            kind = root.unwinding(thread_id, frame, is_repeated)
            if kind is not None:
                async_exception.raise_if(_HOOK_THREAD, execution, kind, is_repeated)

    def text(self) -> str:
        """Return what it runs, and since when."""
        name = self.execution.instance.name
        self.line = line_of(self.execution) or self.line
        return (
            f"{name} is still running{self.line}, since {self.since}: "
            "Ctrl-C did not end it"
        )


class AbandonedExecutions:
    """Executions that continue although their requests have ended.

    A thread interrupts them until they end; it runs as long as there are any.

    Parameters
    ----------
    changed
        Called when the calls of an ended run have changed.
    """

    def __init__(self, changed: Callable[[RunRecord], None]) -> None:
        self._changed = changed
        self._all: list[_Abandoned] = []
        self._watcher: Watcher | None = None
        self._lock = threading.Lock()

    def add(self, execution: Execution, root: RootRequest) -> None:
        """Interrupt an execution whose request has ended, until it ends."""
        left = _Abandoned(execution, root)
        left.interrupt(CLOCK.now_ns())
        for inflight in execution.inflights:
            inflight.root.record.going_on += 1
            call = inflight.call
            call.error = f"{call.error}: still running{left.line}, since {left.since}"
        with self._lock:
            self._all.append(left)
            if self._watcher is None:
                self._watcher = self._started()

    def _started(self) -> Watcher | None:
        watcher = Watcher(self._look, _PAUSE_S, "blsnb interrupts")
        try:
            watcher.start()
        except OutOfResourcesError as error:
            _log.warning("interrupted models are left alone: %s", error.message)
            return None
        return watcher

    def running(self, name: str = "") -> dict[tuple[str, int], list[str]]:
        """Return what still runs, by model and version.

        Parameters
        ----------
        name
            Of the model; empty for all.
        """
        found: dict[tuple[str, int], list[str]] = {}
        for left in list(self._all):
            model = left.execution.call.model
            if left.is_running and name in ("", model.name):
                found.setdefault((model.name, model.version), []).append(left.text())
        return found

    def _look(self) -> None:
        """Interrupt what still runs; end the thread if nothing does."""
        now_ns = CLOCK.now_ns()
        with self._lock:
            ended = [each for each in self._all if not each.is_running]
            self._all = [each for each in self._all if each not in ended]
            if not self._all and self._watcher is not None:
                self._watcher.close(0)
                self._watcher = None
        for left in ended:
            self._note_end(left)
        for left in list(self._all):
            left.interrupt(now_ns)
        if self._all:
            self._withdraw()

    def _withdraw(self) -> None:
        """Drop exceptions that native code holds up: they would stop debuggers."""
        time.sleep(async_exception.PENDING_S)
        for left in list(self._all):
            if (thread_id := left.execution.thread_id) != threading.get_ident():
                async_exception.withdraw(thread_id)

    def _note_end(self, left: _Abandoned) -> None:
        """Write into the calls when the execution ended."""
        until_left.stop(left.execution.thread_id)
        when = _time_of_day(time.time())
        for inflight in left.execution.inflights:
            call, record = inflight.call, inflight.root.record
            before = (call.error or "").partition(": still running")[0]
            call.error = f"{before}: ran on{left.line}, until {when}"
            record.going_on -= 1
            self._changed(record)

    def close(self) -> None:
        """Stop interrupting, and log what still runs."""
        for texts in self.running().values():
            for text in texts:
                _log.warning("%s", text)
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.close(_JOIN_S)
        for left in self._all:
            until_left.stop(left.execution.thread_id)


def line_of(execution: Execution) -> str:
    """Return which line of its model's folder an execution runs; empty if unknown."""
    folder = str(Path(execution.instance.model_file).parent)
    frame = sys._current_frames().get(execution.thread_id)
    while frame is not None and not frame.f_code.co_filename.startswith(folder):
        frame = frame.f_back
    if frame is None:
        return ""
    return f" line {frame.f_lineno} of {Path(frame.f_code.co_filename).name}"


def _time_of_day(seconds: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(seconds))
