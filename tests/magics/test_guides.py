"""The cells of the how-to guides run as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

DOCS = Path(__file__).parents[2] / "docs"
_CELL = re.compile(
    r"^```\{code-cell\} python\n"
    r"(?::tags: \[(?P<tags>[^]\n]*)\]\n\n)?(?P<source>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
SLOW = {"howto/instances.md": "a plan observes a model for seconds"}


class Cell(NamedTuple):
    """A cell of a page."""

    source: str
    tags: list[str]


def cells(page: Path) -> list[Cell]:
    """Return the cells of a page."""
    found = _CELL.finditer(page.read_text(encoding="utf-8"))
    return [Cell(each["source"], (each["tags"] or "").split(", ")) for each in found]


PAGES = {
    str(page.relative_to(DOCS)): cells(page)
    for page in sorted(DOCS.glob("*/*.md"))
    if cells(page)
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name in PAGES
    ],
)
def test_the_cells_of_a_guide_run_as_they_stand(name, notebook, tmp_path, monkeypatch):
    """A cell fails if and only if the page says so."""
    monkeypatch.chdir(tmp_path)
    for cell in PAGES[name]:
        if "%load_ext" in cell.source:
            continue
        ran = notebook.run(cell.source)
        fails = ran.error is not None or "Traceback" in ran.stdout
        assert ("raises-exception" in cell.tags) == fails, (
            f"{cell.source}\n{ran.stdout}{ran.stderr}"
        )


def test_each_snippet_of_a_guide_is_executed():
    """Python that is only shown stands on pages with tests of their own."""
    tested = {"testing.md", "gpu.md", "ci.md", "evaluate.md", "plan.md", "recorder.md"}
    shown = {
        page.name
        for page in DOCS.glob("howto/*.md")
        if re.search(r"^```python", page.read_text(encoding="utf-8"), re.MULTILINE)
    }

    assert tested == shown
