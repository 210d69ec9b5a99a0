"""Exceptions raised again until they have left a function, whatever it catches.

Python 3.11 raises exceptions of signal handlers and of other threads at a jump back or
after a call. One that is due again as soon as it was raised meets each ``try`` once,
and leaves them all. From Python 3.12 it is looked up at the instruction before the
target of the jump, which can be in the same ``try`` each time. Monitoring, new in 3.12,
raises exceptions in each line itself.
"""

from __future__ import annotations

import _thread
import functools
import signal
import sys
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from blsnb.engine.threads import async_exception

IsDue = Callable[[types.FrameType], bool]
"""Returns whether the exception may be raised in a frame."""
_TOOL = "blsnb interrupts"
_TOOLS = (4, 3)
"""Numbers of monitoring tools that Python does not suggest for other purposes."""
_OURS = f"{Path(__file__).resolve().parents[2]}/"


class _Repeated:
    """An exception for each line of the frames of one thread.

    Parameters
    ----------
    frames
        From the innermost to the outermost frame that the exception has to leave.
    """

    def __init__(
        self, kind: type[BaseException], frames: list[types.FrameType], is_due: IsDue
    ) -> None:
        self.kind = kind
        self.codes = {frame.f_code for frame in frames}
        self._outermost = frames[-1] if frames else None
        self._is_due = is_due

    def may_raise(self, frame: types.FrameType) -> bool:
        """Whether a frame is due, and within the outermost one."""
        if self._outermost is None or not self._is_due(frame):
            return False
        return any(outer is self._outermost for outer in _outwards(frame))


_repeated: dict[int, _Repeated] = {}
"""By identifier of the thread; changed without a lock, as signal handlers need it."""


def raise_here(
    kind: type[BaseException], frame: types.FrameType | None, is_due: IsDue
) -> None:
    """Raise an exception in a signal handler, and again until it has left the frames.

    From Python 3.12 `stop` ends it. On Python 3.11 the signal comes again each time.

    Parameters
    ----------
    frame
        The interrupted frame.
    """
    if sys.version_info >= (3, 12):
        frames = list(filter(is_due, _outwards(frame)))
        _start(threading.get_ident(), _Repeated(kind, frames, is_due))
        raise kind
    # A loop without a call: after a call Python would handle signals right here.
    for _ in map(_thread.interrupt_main, (signal.SIGINT,)):
        raise kind


def prepare(
    kind: type[BaseException], thread_id: int, frame: types.FrameType, is_due: IsDue
) -> type[BaseException] | None:
    """Let an exception be raised in another thread until it has left a frame.

    Return what to raise there; None if its lines raise it, which `stop` ends. Both
    together would leave one pending when the other has left the frame.
    """
    if sys.version_info >= (3, 12):
        frames = list(filter(is_due, _outwards(frame)))
        _start(thread_id, _Repeated(kind, frames, is_due))
        return kind if _tool() is None else None
    return _chained(kind, thread_id, is_due)


def resume(coroutine: Any, kind: type[BaseException]) -> None:
    """Resume a coroutine with an exception that is raised until it has left it."""
    here = threading.get_ident()
    if sys.version_info >= (3, 12):
        frames = [*filter(_is_foreign, reversed(waiting_frames(coroutine)))]
        _start(here, _Repeated(kind, frames, _is_foreign))
        try:
            coroutine.throw(kind)
        except BaseException:
            pass
        finally:
            stop(here)
        return
    throw = functools.partial(coroutine.throw, kind)
    chained = _chained(
        kind, here, lambda frame: coroutine.cr_running and _is_foreign(frame)
    )
    # No context manager, and no call of Python code: it would be raised there.
    try:
        try:
            for _ in map(async_exception.RAISE, (here,), (chained,)):
                throw()
        except BaseException:
            pass
        async_exception.clear()
    except kind:
        pass


def waiting_frames(coroutine: Any) -> list[types.FrameType]:
    """Return the frames of a coroutine that waits, the outermost first."""
    frames = []
    while (frame := getattr(coroutine, "cr_frame", None)) is not None:
        frames.append(frame)
        coroutine = coroutine.cr_await
    return frames


def stop(thread_id: int) -> None:
    """Raise nothing more in a thread; safe to repeat."""
    repeated = _repeated.pop(thread_id, None)
    if repeated is not None:
        others = set().union(*(each.codes for each in list(_repeated.values())))
        _watch(repeated.codes - others, False)


def _start(thread_id: int, repeated: _Repeated) -> None:
    stop(thread_id)
    _repeated[thread_id] = repeated
    _watch(repeated.codes, True)


def _chained(
    kind: type[BaseException], thread_id: int, is_due: IsDue
) -> type[BaseException]:
    """Return an exception that is raised again each time, while it is due."""
    again = async_exception.RAISE

    # The type checker knows no base class that is an argument.
    class Chained(kind):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            super().__init__()
            if is_due(sys._getframe(1)):
                # No call: after one the exception would be raised right here.
                for _ in map(again, (thread_id,), (Chained,)):
                    return

    return Chained


def _outwards(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_foreign(frame: types.FrameType) -> bool:
    return not frame.f_code.co_filename.startswith(_OURS)


if sys.version_info >= (3, 12):

    def _watch(codes: set[types.CodeType], is_on: bool) -> None:
        """Let lines and jumps of functions raise what is due, or no longer."""
        tool = _tool()
        if tool is None:
            return
        events = sys.monitoring.events
        kinds = events.LINE | events.JUMP if is_on else events.NO_EVENTS
        for code in codes:
            sys.monitoring.set_local_events(tool, code, kinds)

    def _tool() -> int | None:
        """Return the number of this tool; None if other tools have all numbers."""
        owned = [n for n in _TOOLS if sys.monitoring.get_tool(n) == _TOOL]
        free = [n for n in _TOOLS if sys.monitoring.get_tool(n) is None]
        if owned or not free:
            return next(iter(owned), None)
        sys.monitoring.use_tool_id(free[0], _TOOL)
        for event in (sys.monitoring.events.LINE, sys.monitoring.events.JUMP):
            sys.monitoring.register_callback(free[0], event, _raise_due)
        return free[0]

    def _raise_due(code: types.CodeType, *place: int) -> None:
        repeated = _repeated.get(threading.get_ident())
        if repeated is not None and repeated.may_raise(sys._getframe(1)):
            raise repeated.kind

else:

    def _watch(codes: set[types.CodeType], is_on: bool) -> None:
        """Do nothing: there is no monitoring."""
