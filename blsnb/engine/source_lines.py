"""SourceLines: which line of a model's file makes a call."""

from __future__ import annotations

import sys
import types


class SourceLines:
    """Finds the line of one file that runs; what was found is remembered.

    Python counts a line from the beginning of its function each time it is asked.

    Parameters
    ----------
    filename
        As the code of the file has it.
    """

    __slots__ = ("_filename", "_known")

    def __init__(self, filename: str) -> None:
        self._filename = filename
        self._known: tuple[types.CodeType | None, dict[int, int]] = (None, {})
        """The function asked for last, and lines by the place of the instruction."""

    def innermost(self, depth: int) -> int:
        """Return the line of the innermost frame that runs the file; 0 if none does.

        Parameters
        ----------
        depth
            So many frames from here outwards are ours: none of them is made an object.
        """
        try:
            frame: types.FrameType | None = sys._getframe(depth)
        except ValueError:
            return 0
        # One tuple: another thread may ask for another function meanwhile.
        known, lines = self._known
        while frame is not None:
            code = frame.f_code
            if code is known:
                return lines.get(frame.f_lasti) or self._count(frame)
            if code.co_filename == self._filename:
                self._known = (code, {})
                return self._count(frame)
            frame = frame.f_back
        return 0

    def _count(self, frame: types.FrameType) -> int:
        code, lines = self._known
        line = frame.f_lineno
        if code is frame.f_code:
            lines[frame.f_lasti] = line
        return line
