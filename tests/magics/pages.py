"""Pages of the documentation, their entries and cells, run as `make docs` does."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parents[2] / "docs"
_ENTRY = re.compile(r"^### `(.+)`$", re.MULTILINE)
_CELL = re.compile(
    r"^```\{code-cell\} python\n"
    r"(?::tags: \[(?P<tags>[^]\n]*)\]\n\n)?(?P<source>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class Cell(NamedTuple):
    """A cell of a page."""

    source: str
    fails: bool
    """Whether the page says that it fails."""


class Entry(NamedTuple):
    """A text in a catalogue, with its example."""

    text: str
    shared: list[Cell]
    """The cells before the first entry."""
    example: list[Cell]


def cells(text: str) -> list[Cell]:
    """Return the cells in a page's text."""
    return [
        Cell(found["source"], "raises-exception" in (found["tags"] or ""))
        for found in _CELL.finditer(text)
    ]


def entries() -> list[Entry]:
    """Return the entries of the catalogues of errors and notes."""
    return [*_entries("errors.md"), *_entries("notes.md")]


def _entries(page: str) -> list[Entry]:
    text = (DOCS / "reference" / page).read_text(encoding="utf-8")
    before, *rest = _ENTRY.split(text)
    shared = cells(before)
    return [
        Entry(text, shared, cells(section))
        for text, section in zip(rest[::2], rest[1::2], strict=True)
    ]


def run(notebook, cells: Iterable[Cell]) -> str:
    """Run cells, which fail as their page says; return what the last one gave.

    The extension is loaded already.
    """
    given = ""
    for cell in cells:
        if cell.source == "%load_ext blsnb\n":
            continue
        ran = notebook.run(cell.source)
        fails = ran.error is not None or "Traceback" in ran.stdout
        assert cell.fails == fails, f"{cell.source}\n{ran.stdout}{ran.stderr}"
        given = ran.stdout if ran.error is None else str(ran.error)
    return given
