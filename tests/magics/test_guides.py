"""The cells of the how-to guides run as they stand."""

from __future__ import annotations

import re

import pytest

from .pages import DOCS, cells, run

SLOW = {"howto/instances.md": "a plan observes a model for seconds"}
PAGES = {
    str(page.relative_to(DOCS)): found
    for page in sorted(DOCS.glob("*/*.md"))
    if (found := cells(page.read_text(encoding="utf-8")))
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name in PAGES
    ],
)
def test_the_cells_of_a_guide_run_as_they_stand(
    name, notebook, settings, tmp_path, monkeypatch
):
    """A cell fails if and only if the page says so."""
    monkeypatch.chdir(tmp_path)
    run(notebook, PAGES[name])


def test_each_snippet_of_a_guide_is_executed():
    """Python that is only shown stands on pages with tests of their own."""
    tested = {"testing.md", "gpu.md", "ci.md", "evaluate.md", "plan.md", "recorder.md"}
    shown = {
        page.name
        for page in DOCS.glob("howto/*.md")
        if re.search(r"^```python", page.read_text(encoding="utf-8"), re.MULTILINE)
    }

    assert tested == shown
