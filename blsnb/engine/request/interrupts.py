"""Ctrl-C: ends the request of the main thread, and reaches model code only."""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from blsnb.engine.request.lifetime import RootRequest, Unwind
from blsnb.engine.threads import async_exception
from blsnb.engine.threads.repeater import Repeater
from blsnb.errors import RequestInterrupted

F = TypeVar("F", bound=Callable[..., object])
Folders = Callable[[], Iterable[Path]]
"""Returns the folders of the models' files."""

_ENGINE = Path(__file__).resolve().parent.parent
_CRITICAL = (f"{_ENGINE}{os.sep}", f"{_ENGINE.with_name('trace')}{os.sep}")
"""Where an interrupt could leave a list half changed."""
_REQUESTS = str(_ENGINE.with_name("parts") / "requests.py")
"""Likewise: opens and closes client requests."""
_LOADING = f"{_ENGINE / 'loading'}{os.sep}"
"""Likewise, for instances that nothing holds yet."""
_BACKENDS = f"{_ENGINE.with_name('backends')}{os.sep}"
"""Run models as model code does, where the loading calls them."""
_WORLD = str(_ENGINE / "instance" / "world.py")
"""Not critical: imports and prints of model code pass through it."""
_boundaries: set[types.CodeType] = set()
_once_only: set[types.CodeType] = set()


@contextlib.contextmanager
def interruptible(root: RootRequest, models: Folders) -> Iterator[None]:
    """Let Ctrl-C end the request, whatever the models make of it.

    Only the main thread gets signals. The interrupt is raised where model code
    or the user's code runs; inside the engine it is noted, so that an instance is
    never lost half-way between two lists. A model that goes on gets it again. What
    unwinds the ended request stops here: `RootRequest.raise_ended` then raises why
    it ended.

    Parameters
    ----------
    models
        Returns the folders of the models' files.
    """
    previous = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    # None: a handler that is not Python's, and could not be restored.
    is_handled = is_main and previous is not None and previous is not signal.SIG_IGN
    if is_handled:
        handler = _Handler(root, models, previous)
        signal.signal(signal.SIGINT, handler)
    try:
        yield
    except Unwind as error:
        root.unwound(error)
    except KeyboardInterrupt as error:
        if not root.ended_by(error):
            raise
    finally:
        if is_handled:
            if handler.repeater is not None:
                handler.repeater.close()
            if signal.getsignal(signal.SIGINT) is handler:
                signal.signal(signal.SIGINT, previous)


class _Handler:
    """The handler of SIGINT during a client request or a load.

    Parameters
    ----------
    previous
        The handler that it replaces.
    """

    def __init__(self, root: RootRequest, models: Folders, previous: Any) -> None:
        self._root = root
        self._models = models
        self._previous = previous
        self.repeater: Repeater | None = None
        """Sends the signal again after the first one."""

    def __call__(self, number: int, frame: types.FrameType | None) -> None:
        """End the request; raise the interrupt where model or user code runs."""
        is_first = self.repeater is None
        repeater = self.repeater = self.repeater or Repeater()
        is_repeated = repeater.take_sent()
        if not is_repeated:
            self._root.end(RequestInterrupted())
            repeater.start()
        if not in_model(frame, self._models(), is_repeated):
            return
        if is_repeated:
            repeater.is_sent = True
            _raise_until_left()
        if is_first and callable(self._previous):
            self._previous(number, frame)
        # asyncio's handler cancels a task, which does not run meanwhile.
        raise KeyboardInterrupt


def _raise_until_left() -> None:
    """Raise the interrupt, and again in the next line that looks for signals.

    So it leaves a loop whose ``try`` holds every other line. The handler stops this
    outside of model code.
    """
    # A loop, and no call: after a call Python would look for signals right here.
    for _ in map(_thread.interrupt_main, (signal.SIGINT,)):
        raise KeyboardInterrupt


def boundary(function: F) -> F:
    """Mark a function of the engine that calls model code."""
    _boundaries.add(function.__code__)
    return function


def interrupted_once(function: F) -> F:
    """Mark a function whose model code gets an interrupt once, and never again."""
    _once_only.add(function.__code__)
    return function


def in_model(
    frame: types.FrameType | None, models: Iterable[Path], is_repeated: bool
) -> bool:
    """Whether an interrupt may be raised in a frame.

    Parameters
    ----------
    models
        The folders of the models' files.
    is_repeated
        Whether it was raised before.
    """
    if is_repeated and _runs_once_only(frame):
        return False
    folders = tuple(map(str, models))
    in_backend = False
    while frame is not None:
        code = frame.f_code
        if code in _boundaries or code.co_filename.startswith(folders):
            return True
        if code.co_filename.startswith(_LOADING):
            return in_backend
        in_backend = in_backend or code.co_filename.startswith(_BACKENDS)
        if _is_critical(code.co_filename):
            return False
        frame = frame.f_back
    return not is_repeated


def interrupt_thread(root: RootRequest, thread_id: int, is_repeated: bool) -> None:
    """Unwind the model that another thread runs for a request that has ended."""
    frame = sys._current_frames().get(thread_id)
    if frame is not None and in_model(frame, root.folders(), is_repeated):
        kind = _unwind_until_left(root, thread_id) if is_repeated else Unwind
        async_exception.raise_in(thread_id, kind)


def _unwind_until_left(root: RootRequest, thread_id: int) -> type[Unwind]:
    """Return an exception that is raised again as long as it is raised in a model."""

    class RepeatedUnwind(Unwind):
        def __init__(self) -> None:
            super().__init__()
            if in_model(sys._getframe(1), root.folders(), is_repeated=True):
                # A loop, and no call: after a call it would be raised right here.
                for _ in map(async_exception.RAISE, (thread_id,), (RepeatedUnwind,)):
                    return

    return RepeatedUnwind


def leave_running(root: RootRequest, thread_id: int) -> None:
    """Let the interrupt's traceback end where another thread still runs a model."""
    frame = sys._current_frames().get(thread_id)
    trace: types.TracebackType | None = None
    while frame is not None:
        line = frame.f_lineno or frame.f_code.co_firstlineno
        trace = types.TracebackType(trace, frame, max(frame.f_lasti, 0), line)
        frame = frame.f_back
    root.left_at(trace)


def _runs_once_only(frame: types.FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code in _once_only:
            return True
        frame = frame.f_back
    return False


def _is_critical(filename: str) -> bool:
    if filename == _WORLD:
        return False
    return filename == _REQUESTS or filename.startswith(_CRITICAL)
