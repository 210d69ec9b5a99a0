"""Work in which Ctrl-C waits, has no effect, or has effect only once."""

from __future__ import annotations

import shutil
import signal
import sys
import threading
import types
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
_noted: list[int] = []
"""Signals received by the main thread during uninterrupted work."""


def uninterrupted(work: Callable[[], T]) -> T:
    """Run work that Ctrl-C may end only at certain points.

    These are copies of files and calls of `check`; elsewhere KeyboardInterrupt is
    raised after the work. A handler installed by the work receives its signals.
    """
    previous = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not callable(previous) or previous is _note:
        return work()
    _noted.clear()
    signal.signal(signal.SIGINT, _note)
    try:
        return work()
    except KeyboardInterrupt:
        _noted.clear()
        raise
    finally:
        signal.signal(signal.SIGINT, previous)
        if _noted:
            _noted.clear()
            # With a frame, so that the engine can record an interrupt of its own code.
            previous(signal.SIGINT, sys._getframe())


class _IgnoringIn:
    """A handler of SIGINT without effect in a function and in what it calls.

    The first signal elsewhere restores the previous handler.
    """

    def __init__(self, function: types.CodeType, previous: Any) -> None:
        self.previous = previous
        self._function = function

    def __call__(self, number: int, frame: types.FrameType | None) -> None:
        outer = frame
        while outer is not None:
            if outer.f_code is self._function:
                return
            outer = outer.f_back
        signal.signal(number, self.previous)
        if callable(self.previous):
            self.previous(number, frame)


def without_interrupts(
    work: Callable[[], T], rest_of: types.CodeType | None = None
) -> T:
    """Run short work at the end of a cell, during which Ctrl-C has no effect.

    Parameters
    ----------
    rest_of
        A running function, the rest of which Ctrl-C does not end either. The next
        call of `without_interrupts` ends this.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    previous = signal.getsignal(signal.SIGINT)
    if previous is None:
        # Not Python's handler: it could not be restored.
        return work()
    if isinstance(previous, _IgnoringIn):
        previous = previous.previous
    after = previous if rest_of is None else _IgnoringIn(rest_of, previous)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return work()
    finally:
        signal.signal(signal.SIGINT, after)


def ended_once(work: Callable[[], T]) -> T:
    """Run work that the first Ctrl-C ends; later ones leave its cleanup alone.

    The cleanup must have an end of its own.
    """
    previous = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not callable(previous):
        return work()
    is_ended = False

    def handle(number: int, frame: types.FrameType | None) -> None:
        nonlocal is_ended
        if not is_ended:
            is_ended = True
            previous(number, frame)

    signal.signal(signal.SIGINT, handle)
    try:
        return work()
    finally:
        signal.signal(signal.SIGINT, previous)


def _note(number: int, frame: types.FrameType | None) -> None:
    _noted.append(number)
    if frame is not None and frame.f_code.co_filename == shutil.__file__:
        check()


def check() -> None:
    """End waiting or long work after an interrupt.

    Raises
    ------
    KeyboardInterrupt
        A signal was received during uninterrupted work.
    """
    if _noted and threading.current_thread() is threading.main_thread():
        raise KeyboardInterrupt
