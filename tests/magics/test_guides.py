"""The cells of the how-to guides run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from .pages import DOCS, cells, run

ROOT = DOCS.parent
_FENCE = re.compile(r"^(```+)(?P<language>.*)\n(?P<text>(?:.*\n)*?)\1$", re.MULTILINE)
SLOW = {
    "howto/instances.md": "a plan observes a model for seconds",
    "howto/plan.md": "a plan observes models for seconds",
}
IN_A_KERNEL = {"howto/evaluate.md": "Dask leaves threads"}
"""Pages that run in a process of their own, with the reason."""
VERIFIES = "needs a real Triton server, which tutorial 10 starts where one is installed"
PYTEST = "tests of pytest, which tests/testing/test_documentation.py runs from the page"
SHOWN = {
    "README.md": {
        "%load_ext blsnb": "tests/test_readme.py runs the three cells",
        "%%triton_model double --input X:FP32[-1] --output Y:FP32[-1]": "as above",
        "import blsnb": "as above",
    },
    "explanation/fidelity.md": {"%triton verify pipeline IMAGE=image": VERIFIES},
    "howto/ci.md": {"def test_it_doubles(triton_server):": PYTEST},
    "howto/deploy.md": {"%triton verify scale RAW=[0,51,255]": VERIFIES},
    "howto/plan.md": {
        "%triton plan pipeline IMAGE=image --rate 40 --p99 150ms "
        "--instances embedding=1..2 --delay embedding=0,2ms": (
            "observes the models once more, for seconds; tutorial 12 executes a plan"
        )
    },
    "howto/testing.md": {
        "def test_it_doubles(triton_server):": PYTEST,
        "def test_the_answer_is_as_it_was(assert_replays):": PYTEST,
        "def right(row, outputs):": PYTEST,
        "def test_the_outer_model_alone(triton_server):": PYTEST,
    },
    "reference/notes.md": {"if response.has_error():": "a line of a model's execute"},
}
"""Snippets of Python that are only shown, by their first line, with the reason."""


def shown(page: Path) -> list[str]:
    """Return the first lines of snippets of Python that a page only shows.

    Commands of a shell, configurations and outputs are marked as such.
    """
    return [
        each["text"].partition("\n")[0]
        for each in _FENCE.finditer(page.read_text(encoding="utf-8"))
        if each["language"] in ("", "python", "ipython")
        or (each["language"] == "text" and each["text"].startswith("%"))
    ]


PAGES = {
    str(page.relative_to(DOCS)): found
    for page in sorted(DOCS.rglob("*.md"))
    if (found := cells(page.read_text(encoding="utf-8")))
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name in PAGES
        if name not in IN_A_KERNEL
    ],
)
@pytest.mark.usefixtures("settings")
def test_the_cells_of_a_guide_run_as_they_stand(
    name, notebook, settings, tmp_path, monkeypatch
):
    """A cell fails if and only if the page says so."""
    monkeypatch.chdir(tmp_path)
    run(notebook, PAGES[name])


@pytest.mark.slow
@pytest.mark.notebook
@pytest.mark.parametrize("name", IN_A_KERNEL)
def test_the_cells_of_a_guide_run_in_a_kernel(name, tmp_path):
    """No cell of these pages fails."""
    sources = [cell.source for cell in PAGES[name]]
    notebook = nbformat.v4.new_notebook(
        cells=[*map(nbformat.v4.new_code_cell, sources)]
    )
    there = {"metadata": {"path": str(tmp_path)}}

    NotebookClient(notebook, timeout=60, resources=there).execute()


def test_each_snippet_of_python_is_executed():
    """Each exception is listed with its reason."""
    pages = [ROOT / "README.md", *DOCS.rglob("*.md")]
    found = {
        str(page.relative_to(DOCS if DOCS in page.parents else ROOT)): shown(page)
        for page in pages
        if shown(page)
    }

    assert {page: list(each) for page, each in SHOWN.items()} == found
