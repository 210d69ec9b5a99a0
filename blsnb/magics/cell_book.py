"""The notebook cells from which model files were written."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any, NamedTuple

_MAX_TEXTS = 20
"""Maximum number of texts kept per file; errors may refer to older ones."""


class CellText(NamedTuple):
    """The text of a file, and its location in a cell."""

    cell: str
    """Name of the cell, such as ``"In[12]"``."""
    offset: int
    """Number of lines of the cell above the text."""
    text: str
    source: str = ""
    """File name under which a debugger knows the cell."""

    def label(self, filename: str, line: int) -> str:
        """Return the number of a line in the cell and, in brackets, in the file."""
        name = Path(filename).name
        return f"cell {self.cell} line {line + self.offset} ({name}:{line})"


class CellBook:
    """The cells of model files, by path and text."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._texts: dict[str, dict[str, CellText]] = {}

    def here(self, text: str) -> CellText:
        """Return the location of a cell magic's text in the running cell."""
        source = self._running_source()
        name = self.name_of(source) or "this cell"
        return CellText(name, 1 + self._leading_lines(), text, source)

    def running_cell(self) -> str:
        """Return the cell whose code runs on this thread; empty if none does."""
        return self.name_of(self._running_source())

    def beginning_cell(self, info: Any) -> str:
        """Return the cell that IPython is about to run; empty without a number."""
        has_number = getattr(info, "store_history", False)
        return f"In[{self._shell.displayhook.prompt_count}]" if has_number else ""

    def _running_source(self) -> str:
        frame: types.FrameType | None = sys._getframe()
        while frame is not None:
            if self.name_of(frame.f_code.co_filename):
                return frame.f_code.co_filename
            frame = frame.f_back
        return ""

    def name_of(self, filename: str) -> str:
        """Return ``"In[12]"`` for the file name of a cell's code, else ``""``."""
        found = self._shell.compile.format_code_name(filename)
        return found[1] if found else ""

    def _leading_lines(self) -> int:
        """Count the blank lines above the magic, which IPython drops."""
        history = self._shell.history_manager
        raw = history.input_hist_raw[-1] if history is not None else ""
        below = raw.lstrip()
        return raw[: len(raw) - len(below)].count("\n") if below[:1] == "%" else 0

    def remember(self, path: Path, place: CellText) -> None:
        """Note the cell of a file's text."""
        known = self._texts.setdefault(str(path), {})
        known.pop(place.text, None)
        known[place.text] = place
        if len(known) > _MAX_TEXTS:
            del known[next(iter(known))]

    def with_text(self, text: str) -> CellText | None:
        """Return the cell of a text, which may be an older text of its file."""
        found = (known[text] for known in self._texts.values() if text in known)
        return next(found, None)

    def find(self, filename: str) -> CellText | None:
        """Return the cell of a file's present text; None if it came from no cell."""
        known = self._texts.get(filename)
        if known is None or not Path(filename).is_file():
            return None
        return known.get(Path(filename).read_text("utf-8"))

    def current(self) -> dict[str, CellText]:
        """Return the cells of all files whose present text came from a cell."""
        found = {path: self.find(path) for path in list(self._texts)}
        return {path: place for path, place in found.items() if place is not None}

    def place_of(self, filename: str, line: int) -> str:
        """Return the location of a line: in its cell if it has one, and its file."""
        place = self.find(filename)
        if place is not None:
            return place.label(filename, line)
        cell = self.name_of(filename)
        return f"cell {cell} line {line}" if cell else f"{filename}:{line}"
