"""Ctrl-C: ends the request of the main thread, and is raised in model code only."""

from __future__ import annotations

import _thread
import os
import signal
import threading
import time
import types
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from blsnb.engine.threads import until_left
from blsnb.engine.threads.repetition import Repetition
from blsnb.engine.threads.waiter import Waiter
from blsnb.errors import RequestInterrupted

F = TypeVar("F", bound=Callable[..., object])
Folders = Callable[[], Iterable[Path]]
"""Returns the folders of the models' files."""

_ENGINE = Path(__file__).resolve().parent.parent
_CRITICAL = (f"{_ENGINE}{os.sep}", f"{_ENGINE.with_name('trace')}{os.sep}")
"""Code in which an interrupt could leave a list half changed."""
_PARTS = _ENGINE.with_name("parts")
_REQUESTS = (str(_PARTS / "requests.py"), str(_PARTS / "readers.py"))
"""Code that opens and closes client requests; critical as well."""
_LOADING = f"{_ENGINE / 'loading'}{os.sep}"
"""Code that holds new instances; critical as well."""
_BACKENDS = f"{_ENGINE.with_name('backends')}{os.sep}"
"""Not critical although loading calls it: it executes models."""
_INSTANCE_MODULES = str(_ENGINE / "instance" / "instance_modules.py")
"""Not critical: imports and prints of model code run through it."""
_JOIN_S = 1.0
_boundaries: set[types.CodeType] = set()
_once_only: set[types.CodeType] = set()


class Repeater:
    """Sends SIGINT again to the main thread; owned by the request that Ctrl-C ended.

    A signal ends blocking calls, and its handler sees which frame is innermost.
    """

    def __init__(self) -> None:
        self._end = Waiter()
        self._ended: Waiter | None = None
        self._is_closed = False
        self.is_sent = False
        """Whether the next signal that is handled is not the user's."""

    def start(self) -> None:
        """Start the thread, once; safe in a signal handler."""
        ended, began = Waiter(), Waiter()
        # During a call another Ctrl-C may have been handled; none is between these.
        if self._ended is not None or self._is_closed:
            return
        self._ended = ended
        try:
            # Not `threading.Thread`: the interrupted code may hold its locks.
            _thread.start_new_thread(self._run, (ended, began))
            # Before it runs, Python takes it for the thread that starts it: an
            # exception raised in that one would be raised in the new one.
            began.wait(_JOIN_S)
        except RuntimeError:
            # No thread is left: the user may press Ctrl-C again.
            ended.wake()

    def _run(self, ended: Waiter, began: Waiter) -> None:
        began.wake()
        try:
            repetition = Repetition(time.monotonic_ns())
            while not self._end.wait(repetition.pause_s(time.monotonic_ns())):
                if repetition.is_due(time.monotonic_ns()):
                    self.is_sent = True
                    ident = threading.main_thread().ident
                    assert ident is not None
                    signal.pthread_kill(ident, signal.SIGINT)
        finally:
            ended.wake()

    def take_sent(self) -> bool:
        """Whether this thread sent the signal that is being handled."""
        is_sent, self.is_sent = self.is_sent, False
        return is_sent

    def close(self) -> None:
        """End the thread, and let its last signal arrive; safe to repeat."""
        self._is_closed = True
        self._end.wake()
        if self._ended is not None:
            self._ended.wait(_JOIN_S)
            # Handles signals that have arrived.
            signal.pthread_sigmask(signal.SIG_BLOCK, ())


class InterruptHandler:
    """The handler of SIGINT during a client request or a load.

    Parameters
    ----------
    end
        Ends the request with a reason.
    models
        Returns the folders of the models' files.
    previous
        The handler that it replaces.
    """

    def __init__(
        self, end: Callable[[BaseException], None], models: Folders, previous: Any
    ) -> None:
        self._end = end
        self._models = models
        self._previous = previous
        self._repeater = Repeater()
        self._is_first = True

    def close(self) -> None:
        """Stop repeating the signal."""
        self._repeater.close()
        until_left.stop(threading.get_ident())

    def _is_due(self, frame: types.FrameType) -> bool:
        return in_model(frame, self._models(), is_repeated=True)

    def handle(self, number: int, frame: types.FrameType | None) -> None:
        """End the request; raise the interrupt where model or user code runs."""
        is_first, self._is_first = self._is_first, False
        repeater = self._repeater
        is_repeated = repeater.take_sent()
        if not is_repeated:
            self._end(RequestInterrupted())
            repeater.start()
        if not in_model(frame, self._models(), is_repeated):
            return
        if is_repeated:
            repeater.is_sent = True
            until_left.raise_here(KeyboardInterrupt, frame, self._is_due)
        if is_first and callable(self._previous):
            self._previous(number, frame)
        # asyncio's handler cancels a task, which cannot run during this call.
        raise KeyboardInterrupt


def boundary(function: F) -> F:
    """Mark a function of the engine that calls model code."""
    _boundaries.add(function.__code__)
    return function


def interrupted_once(function: F) -> F:
    """Mark a function whose model code receives an interrupt only once."""
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


def _runs_once_only(frame: types.FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code in _once_only:
            return True
        frame = frame.f_back
    return False


def _is_critical(filename: str) -> bool:
    if filename == _INSTANCE_MODULES:
        return False
    return filename in _REQUESTS or filename.startswith(_CRITICAL)
