"""Lines of source: those that make a model's calls, and those that log."""

from __future__ import annotations

import sys
import types

from blsnb.engine.request.failure import is_ours


class SourceLines:
    """Looks up which line of a file makes a call, and remembers the lines.

    Python computes a frame's line from the start of its function each time.

    Parameters
    ----------
    filename
        As in the code objects of the file.
    """

    __slots__ = ("_filename", "_known")

    def __init__(self, filename: str) -> None:
        self._filename = filename
        self._known: tuple[types.CodeType | None, dict[int, int]] = (None, {})
        """The latest function, and its known lines by the offset of the instruction."""

    def innermost(self, depth: int) -> int:
        """Return the line of the innermost frame of the file; 0 if there is none.

        Parameters
        ----------
        depth
            Number of frames of blsnb to skip: no frame object is made for them.
        """
        try:
            frame: types.FrameType | None = sys._getframe(depth)
        except ValueError:
            return 0
        # One tuple: another thread may look up another function meanwhile.
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


def log_position(depth: int) -> tuple[str, int]:
    """Return file and line of the innermost frame that is not of blsnb.

    Parameters
    ----------
    depth
        Number of frames to skip.
    """
    frame: types.FrameType | None = sys._getframe(depth + 1)
    while frame is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
