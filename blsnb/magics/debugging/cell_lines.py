"""Lines of a cell at which a breakpoint can stop."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from types import CodeType

_FIRST = r"\s*%%?triton_(?P<kind>model|file|config)(?!\w)[^\n]*\n"


class CellLines:
    """The lines of a cell that defines a model or one of its files."""

    def __init__(self, cell: str) -> None:
        found = re.match(_FIRST, cell)
        self.is_ours = found is not None
        """Whether the cell begins with a magic of blsnb that writes a file."""
        self._first = cell[: found.end()].count("\n") if found else 0
        self._kind = found["kind"] if found else ""
        self._stops = self._stopping(cell[found.end() :]) if found else []

    def _stopping(self, text: str) -> list[int] | None:
        """Return the lines with code; None if the text is not complete Python."""
        if self._kind == "config":
            return []
        try:
            code = compile(text, "cell", "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return None if self._kind == "model" else []
        return sorted({self._first + line for line in _lines_of(code)})

    def bound(self, line: int) -> int | None:
        """Return the line at which a breakpoint stops; None if it stops nowhere.

        A breakpoint on a line without code moves up to the line above that has some.
        """
        if line <= self._first:
            return None
        if self._stops is None:
            return line
        above = bisect_right(self._stops, line)
        return self._stops[above - 1] if above else None


def _lines_of(code: CodeType) -> Iterator[int]:
    for _, _, line in code.co_lines():
        if line:
            yield line
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _lines_of(constant)
