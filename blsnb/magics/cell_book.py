"""CellBook: which cell of the notebook a file of a model came from."""

from __future__ import annotations

import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_KEPT = 20
"""Texts of one file that are remembered, since errors tell of older ones."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a file's text stands in the notebook.

    Parameters
    ----------
    cell
        Such as ``"In[12]"``.
    offset
        Lines of the cell above the file's first.
    text
        The file's text.
    """

    cell: str
    offset: int
    text: str

    def label(self, filename: str, line: int) -> str:
        """Return both numbers of a line: the cell's, and the file's in brackets."""
        name = Path(filename).name
        return f"cell {self.cell} line {line + self.offset} ({name}:{line})"


class CellBook:
    """Remembers the places of model files, by path and text.

    Parameters
    ----------
    shell
        The IPython shell that runs the cells.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._places: dict[str, dict[str, Place]] = {}

    def here(self, text: str) -> Place:
        """Return the place of a cell magic's text in the cell that runs now."""
        return Place(self._running_cell(), 1 + self._leading_lines(), text)

    def _running_cell(self) -> str:
        frame: types.FrameType | None = sys._getframe()
        while frame is not None:
            name = self.name_of(frame.f_code.co_filename)
            if name:
                return name
            frame = frame.f_back
        return "this cell"

    def name_of(self, filename: str) -> str:
        """Return ``"In[12]"`` for the file name of a cell's code; else nothing."""
        found = self._shell.compile.format_code_name(filename)
        return found[1] if found else ""

    def _leading_lines(self) -> int:
        """Count the blank lines above the magic: IPython drops them."""
        history = self._shell.history_manager
        raw = history.input_hist_raw[-1] if history is not None else ""
        below = raw.lstrip()
        return raw[: len(raw) - len(below)].count("\n") if below[:1] == "%" else 0

    def remember(self, path: Path, place: Place) -> None:
        """Note where a file's text came from."""
        known = self._places.setdefault(str(path), {})
        known.pop(place.text, None)
        known[place.text] = place
        if len(known) > _KEPT:
            del known[next(iter(known))]

    def with_text(self, text: str) -> Place | None:
        """Return the place of a text that may not be its file's newest."""
        found = (known[text] for known in self._places.values() if text in known)
        return next(found, None)

    def find(self, filename: str) -> Place | None:
        """Return the place of what a file holds now, if that came from a cell."""
        known = self._places.get(filename)
        if known is None or not Path(filename).is_file():
            return None
        return known.get(Path(filename).read_text("utf-8"))
