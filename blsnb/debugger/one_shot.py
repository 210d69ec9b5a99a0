"""Breakpoints that blsnb sets itself, and that disappear at the next stop."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable
from typing import NamedTuple

from blsnb.debugger.process_debugger import Place, ProcessDebugger

_CONDITION = f"__import__('sys').modules[{__name__!r}].is_hit()"
_NESTING = 12
"""Maximum number of frames between a condition and the code that it is about."""


class _Armed(NamedTuple):
    debugger: ProcessDebugger
    added: list[Place]
    files: frozenset[str]
    is_wanted: Callable[[types.FrameType], bool]
    stops: list[None]
    """One item until a frame stops: several threads may reach the lines at once."""

    def is_hit_by(self, frame: types.FrameType) -> bool:
        """Whether a frame is the first one that is wanted."""
        if not self.stops or not self.is_wanted(frame):
            return False
        try:
            self.stops.pop()
        except IndexError:
            return False
        return True


_armed: list[_Armed] = []
"""The breakpoints that wait for a stop: none, or one item."""


def arm(
    debugger: ProcessDebugger,
    places: Iterable[Place],
    is_wanted: Callable[[types.FrameType], bool],
) -> None:
    """Stop once, in the first frame that reaches one of the lines and is wanted.

    A line with a breakpoint of the user is left out: the frame stops there in any case.
    """
    disarm()
    wanted = sorted(set(places))
    with debugger.held() as is_held:
        if is_held:
            added = debugger.add_breakpoints(wanted, _CONDITION)
            files = frozenset(file for file, _ in wanted)
            _armed.append(_Armed(debugger, added, files, is_wanted, [None]))


def disarm() -> None:
    """Remove the breakpoints, as after any stop."""
    while _armed:
        armed = _armed.pop()
        with armed.debugger.held() as is_held:
            if is_held:
                armed.debugger.remove_breakpoints(armed.added)


def is_hit() -> bool:
    """Whether the frame whose line has such a breakpoint is the one that stops.

    The debugger evaluates it as the condition of the breakpoint.
    """
    frame: types.FrameType | None = sys._getframe(1)
    armed = next(iter(_armed), None)
    for _ in range(_NESTING):
        if frame is None or armed is None:
            return False
        if frame.f_code.co_filename in armed.files:
            return armed.is_hit_by(frame)
        frame = frame.f_back
    return False
