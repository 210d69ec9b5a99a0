"""Coroutines that swallow their cancellation, and how they are ended."""

from __future__ import annotations

import asyncio
import functools
import sys
import threading
import types
from collections.abc import Coroutine, Generator
from pathlib import Path
from typing import Any

from blsnb.engine.threads import async_exception

_ATTEMPTS = 100
"""Maximum number of times that a coroutine is resumed to end it."""
_LINES = 20
"""Number of lines of a coroutine after one of which it is ended."""
_OURS = str(Path(__file__).resolve().parents[2])


class CancellableAwait:
    """Awaits a coroutine, and ends it if it swallows its cancellation.

    Parameters
    ----------
    coroutine
        What is awaited.
    kind
        The exception that ends it.
    """

    def __init__(
        self, coroutine: Coroutine[Any, Any, Any], kind: type[BaseException]
    ) -> None:
        self._coroutine = coroutine
        self._kind = kind
        self.is_final = False
        """Whether it is ended when it waits again after an exception."""
        self.left: types.TracebackType | None = None
        """Where the coroutine waited when it was ended."""

    def __await__(self) -> Generator[Any, None, Any]:
        coroutine = self._coroutine
        error: BaseException | None = None
        while True:
            is_last = self.is_final
            try:
                if error is None:
                    waiting = coroutine.send(None)
                else:
                    waiting = coroutine.throw(error)
            except StopIteration as done:
                return done.value
            finally:
                # It would hold the frames of its traceback, and they hold it.
                error = None
            if is_last:
                self.left = _waiting_place(coroutine)
                if end(coroutine, self._kind):
                    raise self._kind
            try:
                yield waiting
            except BaseException as thrown:
                error = thrown
            if self.is_final:
                error = error or asyncio.CancelledError()

    def close(self) -> None:
        """Close the coroutine, which may never have begun."""
        if self.is_final:
            end(self._coroutine, self._kind)
        else:
            self._coroutine.close()


def end(coroutine: Any, kind: type[BaseException]) -> bool:
    """Raise an exception in each line of a coroutine that waits; return if it ended.

    A coroutine that swallows any other exception would continue when it is collected,
    in the middle of other code and perhaps forever.

    Parameters
    ----------
    kind
        Class of the exception; the one that is raised is of a subclass.
    """
    if coroutine.cr_frame is None:
        return True
    resume = _resume_traced if sys.version_info >= (3, 12) else _resume_throughout
    for attempt in range(_ATTEMPTS):
        resume(coroutine, kind, attempt)
        if coroutine.cr_frame is None:
            return True
    return False


def _resume_traced(coroutine: Any, kind: type[BaseException], attempt: int) -> None:
    """Resume a coroutine with an exception; raise another one in a later line.

    Python 3.12 looks for exceptions of other threads at places that may all be in one
    ``try``.
    """
    left = attempt % _LINES

    def trace(frame: types.FrameType, event: str, argument: object) -> Any:
        nonlocal left
        if frame.f_code.co_filename.startswith(_OURS):
            return None
        if event == "line":
            left -= 1
            if left < 0:
                raise kind
        return trace

    before = sys.gettrace()
    coroutine.cr_frame.f_trace = trace
    sys.settrace(trace)
    try:
        coroutine.throw(kind)
    except BaseException:
        pass
    finally:
        sys.settrace(before)


def _resume_throughout(coroutine: Any, kind: type[BaseException], attempt: int) -> None:
    """Resume a coroutine with an exception, raised in each of its lines."""
    throw = functools.partial(coroutine.throw, kind)
    ending = _throughout(coroutine, kind)
    here = threading.get_ident()
    # No context manager, and no call of Python code: it would be raised there.
    try:
        try:
            for _ in map(async_exception.RAISE, (here,), (ending,)):
                throw()
        except BaseException:
            pass
        async_exception.clear()
    except kind:
        pass


def _throughout(coroutine: Any, kind: type[BaseException]) -> type[BaseException]:
    """Return an exception that is raised again as long as a coroutine runs."""
    again, here = async_exception.RAISE, threading.get_ident()

    class Ending(kind):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            super().__init__()
            ours = sys._getframe(1).f_code.co_filename.startswith(_OURS)
            if coroutine.cr_running and not ours:
                # No call: after one it would be raised right here.
                for _ in map(again, (here,), (Ending,)):
                    return

    return Ending


def _waiting_place(coroutine: Any) -> types.TracebackType | None:
    """Return the traceback of a coroutine that waits."""
    frames = []
    while (frame := getattr(coroutine, "cr_frame", None)) is not None:
        frames.append(frame)
        coroutine = coroutine.cr_await
    trace = None
    for frame in reversed(frames):
        trace = types.TracebackType(trace, frame, frame.f_lasti, frame.f_lineno)
    return trace
