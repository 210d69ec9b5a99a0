"""Exact times of the lines that one request of a model executes."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Self

from blsnb.engine.instance.instance import ModelInstance
from blsnb.engine.profiling.line_clock import LineCount, Place, ThreadLines
from blsnb.engine.profiling.line_events import Monitoring, TraceFunction
from blsnb.engine.profiling.surrounded_hooks import surrounded
from blsnb.engine.request.inflight import Execution, current_execution
from blsnb.errors import BlsnbError
from blsnb.pb_utils.message import RequestMessage
from blsnb.trace.facts import Profile
from blsnb.trace.profiles.lines import FileLines, LineHits, stored_lines

_ENGINE, _BLS = "blsnb.engine.", "bls"
_PATIENCE_S = 5.0
"""Maximum seconds in which code that continues after the response is timed."""
_now_ns = time.perf_counter_ns
_one = threading.Lock()
"""Held while lines are timed: the interpreter's events belong to the process."""


class LineTimer:
    """Times the lines of a model while it executes one request, as a context manager.

    Parameters
    ----------
    request
        The request.
    instances
        The instances of its model.

    Raises
    ------
    BlsnbError
        Upon entry: another timer runs, or another tool uses what it needs.
    """

    def __init__(
        self, request: RequestMessage, instances: Sequence[ModelInstance]
    ) -> None:
        self._request = request
        self._instances = {each.own_modules.package: each for each in instances}
        self._counts: dict[Place, LineCount] = {}
        self._kinds: dict[CodeType, ModelInstance | bool] = {}
        """The instance of a model's code; whether other code waits for BLS calls."""
        self._threads = threading.local()
        self._all_lines: list[ThreadLines] = []
        self._left = threading.Event()
        """Set whenever a thread has left the model's code."""
        has_monitoring = sys.version_info >= (3, 12)
        self._source = Monitoring(self) if has_monitoring else TraceFunction(self)

    def __enter__(self) -> Self:
        if not _one.acquire(blocking=False):
            raise BlsnbError("lines=True: another replay is timing lines; wait for it")
        with contextlib.ExitStack() as stack:
            stack.callback(_one.release)
            self._source.start()
            stack.callback(self._source.stop)
            stack.enter_context(surrounded(self._instances.values(), self._execute))
            self._end = stack.pop_all()
        return self

    def _execute(
        self, execution: Execution, hook: Callable[[Any], Any], requests: Any
    ) -> Any:
        __tracebackhide__ = True
        return self._source.run(hook, requests)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._end:
            if kind is None:
                self._await_rest()

    def _await_rest(self) -> None:
        """Wait for code that continues after the response, at most `_PATIENCE_S`."""
        until = time.monotonic() + _PATIENCE_S
        while not all([lines.is_idle for lines in self._all_lines]):
            if not self._left.wait(max(0.0, until - time.monotonic())):
                return
            self._left.clear()

    def profile(self, call: int) -> Profile:
        """Return the lines, as those of a call.

        Parameters
        ----------
        call
            Id of the call that was executed.
        """
        files: dict[str, dict[int, LineHits]] = {}
        for (code, line), count in sorted(
            self._counts.items(), key=lambda each: each[0][1]
        ):
            lines = files.setdefault(code.co_filename, {})
            known = lines.get(line, LineHits(line, 0, 0))
            lines[line] = LineHits(line, known.hits + count.hits, known.ns + count.ns)
        found = [
            FileLines(Path(path).name, _text(path), tuple(lines.values()))
            for path, lines in files.items()
        ]
        return stored_lines(call, found)

    def concerns(self, frame: FrameType) -> bool:
        """Return whether a frame runs code of the model, or waits for its BLS calls."""
        kind = self._kinds.get(frame.f_code)
        if kind is None:
            kind = self._kinds[frame.f_code] = self._kind(frame)
        return kind is not False

    def _kind(self, frame: FrameType) -> ModelInstance | bool:
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith(_ENGINE) and module.removeprefix(_ENGINE).startswith(_BLS):
            return True
        package = module.partition(".")[0].partition(":")[0]
        return self._instances.get(package, False)

    def entered(self, frame: FrameType, is_resumed: bool) -> bool:
        """Receive that a frame starts or resumes; return whether to report on it."""
        lines = self._lines()
        if lines.waiting is not None:
            return False
        instance = self._kinds[frame.f_code]
        if isinstance(instance, bool):
            if not lines.is_idle:
                lines.wait(frame, _now_ns())
            return not lines.is_idle
        if not self._is_wanted(instance):
            return False
        lines.enter(frame, _now_ns(), is_resumed)
        return True

    def _is_wanted(self, instance: ModelInstance) -> bool:
        """Return whether an instance's code runs for the request."""
        execution: Execution | None = current_execution.get()
        if execution is None or execution.instance is not instance:
            execution = instance.execution
        # Threads of the model continue when it has returned.
        return execution is None or any(
            [each.message is self._request for each in execution.inflights]
        )

    def line(self, frame: FrameType, line: int) -> None:
        """Receive that a frame begins to execute a line."""
        lines = self._lines()
        if lines.waiting is None:
            lines.line(frame, line, _now_ns())

    def left(self, frame: FrameType) -> None:
        """Receive that a frame returns, raises, or is suspended."""
        lines = self._lines()
        if lines.waiting is None:
            lines.leave(frame, _now_ns())
            if lines.is_idle:
                self._left.set()
        else:
            lines.go_on(frame, _now_ns())

    def _lines(self) -> ThreadLines:
        try:
            lines: ThreadLines = self._threads.lines
        except AttributeError:
            lines = self._threads.lines = ThreadLines(self._counts)
            self._all_lines.append(lines)
        return lines


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
