"""How often and how long one thread executes each line."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from types import CodeType, FrameType

Place = tuple[CodeType, int]
"""A line of some code."""


@dataclass(slots=True)
class LineCount:
    """Executions of one line."""

    hits: int = 0
    ns: int = 0
    """Time in the line and in what it called, without waiting for BLS calls."""


@dataclass(slots=True)
class _Open:
    """A frame that executes a line."""

    frame: FrameType
    line: int = 0
    """The current line; 0 before the first."""
    start_ns: int = 0


class ThreadLines:
    """Receives the events of one thread in order, each with its time.

    A line's time ends with the next line of its frame. While a frame is suspended, or
    a model waits for a BLS call, no time passes. A line that calls itself again counts
    once.

    Parameters
    ----------
    counts
        Receives hits and times.
    """

    def __init__(self, counts: dict[Place, LineCount]) -> None:
        self._counts = counts
        self._open: list[_Open] = []
        self._active: Counter[tuple[str, int]] = Counter()
        """Open lines by file: a comprehension has code of its own on its line."""
        self._waited_ns = 0
        self._wait_ns = 0
        self.waiting: FrameType | None = None
        """The frame that waits for a BLS call; other events are ignored until it
        ends."""

    @property
    def is_idle(self) -> bool:
        """Whether no frame is open."""
        return not self._open

    def enter(self, frame: FrameType, now_ns: int, is_resumed: bool) -> None:
        """Open a frame that starts, or that resumes where it was suspended."""
        self._open.append(_Open(frame))
        if is_resumed:
            self._begin(frame.f_lineno, now_ns)

    def line(self, frame: FrameType, line: int, now_ns: int) -> None:
        """Begin a line of a frame."""
        if self._open and self._open[-1].frame is frame:
            self._end(now_ns)
            self._begin(line, now_ns)
            self._count(frame.f_code, line).hits += 1

    def leave(self, frame: FrameType, now_ns: int) -> None:
        """Close a frame that returns, raises, or is suspended."""
        if any(each.frame is frame for each in self._open):
            while True:
                self._end(now_ns)
                if self._open.pop().frame is frame:
                    return

    def wait(self, frame: FrameType, now_ns: int) -> None:
        """Stop the clock: a model begins to wait for a BLS call."""
        self.waiting, self._wait_ns = frame, now_ns

    def go_on(self, frame: FrameType, now_ns: int) -> None:
        """Continue the clock, if it is the frame of the BLS call that returns."""
        if self.waiting is frame:
            self.waiting = None
            self._waited_ns += now_ns - self._wait_ns

    def _begin(self, line: int, now_ns: int) -> None:
        top = self._open[-1]
        top.line, top.start_ns = line, now_ns - self._waited_ns
        self._active[top.frame.f_code.co_filename, line] += 1

    def _end(self, now_ns: int) -> None:
        top = self._open[-1]
        if not top.line:
            return
        code = top.frame.f_code
        place = code.co_filename, top.line
        self._active[place] -= 1
        if not self._active[place]:
            del self._active[place]
            self._count(code, top.line).ns += now_ns - self._waited_ns - top.start_ns

    def _count(self, code: CodeType, line: int) -> LineCount:
        known = self._counts.get((code, line))
        if known is None:
            known = self._counts.setdefault((code, line), LineCount())
        return known
