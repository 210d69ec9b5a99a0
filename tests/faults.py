"""Faults: something happens at a chosen line of blsnb."""

from __future__ import annotations

import signal
import sys
import types
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import blsnb

_PACKAGE = Path(blsnb.__file__).parent
FILES = tuple(f"files/{name}.py" for name in ("owned", "swap", "whole"))
"""Where files are changed; the handler of Ctrl-C beside them is never interrupted."""


class LineFault:
    """Lets something happen before one of the lines that a call runs through.

    Parameters
    ----------
    number
        Which of the lines, from 1 on.
    rooms
        Files and folders of blsnb whose lines count.
    fault
        What happens.
    """

    def __init__(
        self, number: int, rooms: Iterable[str], fault: Callable[[], object]
    ) -> None:
        self._left = number
        self._rooms = tuple(str(_PACKAGE / room) for room in rooms)
        self._fault = fault
        self.where = ""
        """The line; empty if the call had fewer."""

    def during(self, call: Callable[[], object]) -> None:
        """Make the call."""
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            call()
        finally:
            sys.settrace(before)

    def _trace(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        counts = frame.f_code.co_filename.startswith(self._rooms)
        return self._local if counts and not self.where else None

    def _local(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        if event == "line" and not self.where:
            self._left -= 1
            if not self._left:
                name = Path(frame.f_code.co_filename).name
                self.where = f"{name}:{frame.f_lineno} {frame.f_code.co_name}"
                self._fault()
        return self._local


def raise_interrupt() -> None:
    """Raise `KeyboardInterrupt` there, whatever a signal handler would do."""
    raise KeyboardInterrupt


def press_ctrl_c() -> None:
    """Send the signal of Ctrl-C, to whatever handles it."""
    signal.raise_signal(signal.SIGINT)


def lines_of(call: Callable[[], object], rooms: Iterable[str]) -> int:
    """Return how many lines of some rooms a call runs through."""
    seen: list[int] = []

    class Counting(LineFault):
        def _local(self, frame: types.FrameType, event: str, arg: Any) -> Any:
            if event == "line":
                seen.append(1)
            return self._local

    Counting(0, rooms, lambda: None).during(call)
    return len(seen)
