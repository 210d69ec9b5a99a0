"""The interpreter's events of lines: `sys.monitoring`, or a trace function on 3.11."""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading
from collections.abc import Callable, Coroutine
from types import CodeType, FrameType
from typing import Any, Protocol

from blsnb.errors import BlsnbError

_NAME = "blsnb"
_TOOLS = (4, 3)
"""Tool numbers that Python reserves for no kind of tool."""
_SUSPENDS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class LineEvents(Protocol):
    """Receives the events of all threads."""

    def concerns(self, frame: FrameType) -> bool:
        """Return whether a frame's code is ever of interest."""

    def entered(self, frame: FrameType, is_resumed: bool) -> bool:
        """Receive that a frame starts or resumes; return whether to report on it."""

    def line(self, frame: FrameType, line: int) -> None:
        """Receive that a frame begins to execute a line."""

    def left(self, frame: FrameType) -> None:
        """Receive that a frame returns, raises, or is suspended."""


class TraceFunction:
    """Events of a trace function, which each thread installs for itself.

    Parameters
    ----------
    events
        Receives the events.
    """

    def __init__(self, events: LineEvents) -> None:
        self._events = events
        self._is_on = False

    def start(self) -> None:
        """Begin; threads that start from now on have the trace function.

        Raises
        ------
        BlsnbError
            Another tool traces the thread.
        """
        other = sys.gettrace() or threading.gettrace()
        if other is not None:
            raise BlsnbError(
                f"lines=True needs the trace function of Python, which {_owner(other)} "
                "uses: end that (a debugger, coverage), and replay again"
            )
        self._is_on = True
        threading.settrace(self._trace)

    def stop(self) -> None:
        """End; no thread traces from now on."""
        self._is_on = False
        threading.settrace(None)

    def run(self, hook: Callable[[Any], Any], requests: Any) -> Any:
        """Call ``execute`` with the trace function of this thread."""
        __tracebackhide__ = True
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            result = hook(requests)
        finally:
            sys.settrace(before)
        return self._awaited(result) if asyncio.iscoroutine(result) else result

    async def _awaited(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Await a coroutine with the trace function of the event loop's thread."""
        __tracebackhide__ = True
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            return await coroutine
        finally:
            sys.settrace(before)

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        if not self._is_on or not self._events.concerns(frame):
            return None
        code = frame.f_code
        suspends = bool(code.co_flags & _SUSPENDS)
        is_resumed = suspends and frame.f_lineno != code.co_firstlineno
        return self._local if self._events.entered(frame, is_resumed) else None

    def _local(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self._events.line(frame, frame.f_lineno)
        elif event == "return":
            self._events.left(frame)
        return self._local


class Monitoring:
    """Events of `sys.monitoring`, of all threads; other tools work beside it.

    Parameters
    ----------
    events
        Receives the events.
    """

    def __init__(self, events: LineEvents) -> None:
        self._events = events
        self._tool: int

    def start(self) -> None:
        """Begin.

        Raises
        ------
        BlsnbError
            Other tools use all numbers.
        """
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
        for tool in _TOOLS:
            if monitoring.get_tool(tool) is None:
                break
        else:
            others = ", ".join(str(monitoring.get_tool(tool)) for tool in _TOOLS)
            raise BlsnbError(
                f"lines=True needs a tool number of sys.monitoring, and {others} use "
                "them: end one of these tools, and replay again"
            )
        monitoring.use_tool_id(tool, _NAME)
        self._tool = tool
        callbacks = self._callbacks(monitoring.events)
        for kind, callback in callbacks.items():
            monitoring.register_callback(tool, kind, callback)
        monitoring.set_events(tool, sum(callbacks))
        # What an earlier timer of this number has switched off.
        monitoring.restart_events()

    def stop(self) -> None:
        """End."""
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
        monitoring.set_events(self._tool, 0)
        for kind in self._callbacks(monitoring.events):
            monitoring.register_callback(self._tool, kind, None)
        monitoring.free_tool_id(self._tool)

    def run(self, hook: Callable[[Any], Any], requests: Any) -> Any:
        """Call ``execute``: its thread needs no preparation."""
        __tracebackhide__ = True
        return hook(requests)

    def _callbacks(self, kinds: Any) -> dict[int, Callable[..., Any]]:
        """Return the callbacks by kind of event.

        Events of other code are switched off at their first occurrence, except
        exceptions, which cannot be.
        """
        events = self._events
        off: Any = sys.monitoring.DISABLE  # type: ignore[attr-defined, unused-ignore]

        def reporting(report: Callable[[FrameType, Any], object]) -> Any:
            """Return the callback that reports an event of code of interest."""

            def callback(code: CodeType, detail: Any, *_: Any) -> Any:
                frame = sys._getframe(1)
                if not events.concerns(frame):
                    return off
                report(frame, detail)

            return callback

        def thrown(code: CodeType, *_: Any) -> None:
            frame = sys._getframe(1)
            if events.concerns(frame):
                events.entered(frame, True)

        def unwound(code: CodeType, *_: Any) -> None:
            # Other code may hold what `left` locks: Ctrl-C in a wait of this timer.
            frame = sys._getframe(1)
            if events.concerns(frame):
                events.left(frame)

        left = reporting(lambda frame, _: events.left(frame))
        return {
            kinds.PY_START: reporting(lambda frame, _: events.entered(frame, False)),
            kinds.PY_RESUME: reporting(lambda frame, _: events.entered(frame, True)),
            kinds.PY_THROW: thrown,
            kinds.LINE: reporting(events.line),
            kinds.PY_RETURN: left,
            kinds.PY_YIELD: left,
            kinds.PY_UNWIND: unwound,
        }


def _owner(trace: Any) -> str:
    """Return the name of the tool that a trace function belongs to."""
    kind = trace if inspect.isroutine(trace) else type(trace)
    return str(getattr(kind, "__module__", None) or kind).partition(".")[0]
