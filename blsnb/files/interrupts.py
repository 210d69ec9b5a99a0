"""Interrupts: Ctrl-C waits until files are whole again."""

from __future__ import annotations

import shutil
import signal
import threading
import types
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_noted: list[int] = []
"""Interrupts that came while something ran to its end; the main thread's."""


def uninterrupted(work: Callable[[], T]) -> T:
    """Run something that an interrupt must not cut off anywhere.

    Only where it copies a file, and where it calls `check`, Ctrl-C ends it; else
    it is raised afterwards. Whoever installs a handler meanwhile gets its interrupts.
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
            previous(signal.SIGINT, None)


def _note(number: int, frame: types.FrameType | None) -> None:
    _noted.append(number)
    if frame is not None and frame.f_code.co_filename == shutil.__file__:
        check()


def check() -> None:
    """End what waits, or takes long, if an interrupt has come meanwhile.

    Raises
    ------
    KeyboardInterrupt
        It has.
    """
    if _noted and threading.current_thread() is threading.main_thread():
        raise KeyboardInterrupt
