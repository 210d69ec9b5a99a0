"""What the documentation says is true of the code."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest
from magics.pages import entries
from sources import obscure

import blsnb
import blsnb.testing
from blsnb.magics.commands.subcommands import SUBCOMMANDS

ROOT = Path(__file__).parents[1]
_IMPORT = re.compile(
    r"^ *(?:from (?P<module>blsnb[\w.]*) import (?P<names>[^#\n]+)|import blsnb\.\S+)",
    re.MULTILINE,
)
PUBLIC = {
    "blsnb": {*blsnb.__all__},
    "blsnb.runtimes": {"simulated"},
    "blsnb.testing": {*blsnb.testing.__all__},
}
"""What readers may import, by module; docs/reference/api.md describes it."""
ENTRIES = [entry.text for entry in entries()]


def _strings(value: Any) -> Iterator[str]:
    """Yield every string of a JSON value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, str):
        yield value


def _literals(path: Path) -> Iterator[str]:
    """Yield every string of a module, with an ellipsis for placeholders."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                part.value if isinstance(part, ast.Constant) else "…"
                for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """Return all texts that the real server returned or blsnb can produce."""
    golden = sorted((ROOT / "tests/conformance/golden").glob("*.json"))
    answers = (json.loads(path.read_text(encoding="utf-8")) for path in golden)
    modules = sorted(Path(blsnb.__file__).parent.rglob("*.py"))
    return [
        *(text for answer in answers for text in _strings(answer)),
        *(text for module in modules for text in _literals(module)),
    ]


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_text_of_the_catalogues_exists(texts, entry):
    """The real server has returned it, or blsnb can produce it."""
    parts = entry.split("…")
    pattern = re.compile(".*?".join(map(re.escape, parts)), re.DOTALL)
    longest = max(parts, key=len)

    # A pattern searches 40,000 texts slowly, and most lack its longest part.
    assert any(pattern.search(text) for text in texts if longest in text)


# As in conftest.py: a format of which no page has a value takes seconds to compile.
SPHINX = """import sys
sys.modules["rfc3987_syntax"] = None
from sphinx.cmd.build import main
sys.exit(main(sys.argv[1:]))"""


def _built(folder: Path, *options: str) -> str:
    """Build the documentation and return Sphinx's warnings."""
    warnings = folder / "warnings"
    build = [sys.executable, "-c", SPHINX, "--keep-going", "-q", *options]
    places = ["-w", str(warnings), "-d", str(folder / "doctrees"), "docs"]
    subprocess.run([*build, *places, str(folder / "html")], cwd=ROOT, check=True)
    return warnings.read_text(encoding="utf-8")


@pytest.mark.timeout(180)  # Sphinx reads every page and every module.
def test_the_documentation_builds_without_a_warning(tmp_path):
    """Broken links and missing names are warnings."""
    # The language of a page's cells is known only after it has run: "!" is no Python.
    unknown = "misc.highlighting_failure,myst-nb.lexer"
    # Furo would compute the navigation of each page once more.
    quick = ["html_theme=basic", "nb_execution_mode=off"]
    quick.append(f"suppress_warnings={unknown}")
    assert "" == _built(tmp_path, *(f"-D{setting}" for setting in quick))
    page = tmp_path / "html" / "reference" / "magics.html"
    magics = page.read_text(encoding="utf-8")
    assert all(f'id="triton-{name}"' in magics for name in SUBCOMMANDS)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_documentation_builds_with_its_tutorials_executed(tmp_path):
    """A failing tutorial fails the build."""
    assert "" == _built(tmp_path)


def test_the_keys_of_the_view_are_those_that_its_help_lists():
    """The page has the same words in the same order."""
    help_rows = (ROOT / "js/src/page/keys.ts").read_text(encoding="utf-8")
    listed = re.findall(r'^  \["(.+)", "(.+)"\],$', help_rows, re.MULTILINE)
    page = (ROOT / "docs" / "reference" / "view.md").read_text(encoding="utf-8")

    assert "\n".join(f"| {keys} | {does} |" for keys, does in listed) in page
    assert listed


def test_the_pictures_of_a_day_are_small_and_each_is_shown():
    """The page is read on slow networks; a picture that is not shown is a leftover."""
    folder = ROOT / "docs" / "images" / "day"
    shown = re.findall(r"images/day/([\w.-]+)", (ROOT / "docs/day.md").read_text())
    sizes = {each.name: each.stat().st_size for each in folder.iterdir()}

    assert shown == sorted(sizes)
    assert sum(sizes.values()) <= 400_000


def test_the_scripts_that_take_pictures_start():
    """The command is that of docs/gallery/REVIEW.md, in the checkout's folder."""
    names = ", ".join(f"docs.gallery.{name}" for name in ("day", "minute", "take"))
    path = {each: os.environ[each] for each in ("PATH", "HOME") if each in os.environ}
    load = [sys.executable, "-c", f"import {names}"]

    subprocess.run(load, cwd=ROOT, env=path, check=True)


def test_each_text_is_in_the_catalogues_once():
    """Each text has one cause."""
    assert sorted(set(ENTRIES)) == sorted(ENTRIES)


def _executed(folder: Path, cells: list[str]) -> list[Any]:
    """Run cells in a fresh kernel and return them with their outputs."""
    notebook = nbformat.v4.new_notebook(
        cells=[*map(nbformat.v4.new_code_cell, ["%load_ext blsnb", *cells])]
    )
    there = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(
        notebook, timeout=60, resources=there, allow_errors=True
    ).execute()
    return notebook.cells[1:]


def _cells(page: str) -> list[str]:
    """Return the cells of a page."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    pattern = r"^```\{code-cell\} python\n(?::tags: [^\n]*\n\n)?(.*?)^```$"
    return re.findall(pattern, text, re.MULTILINE | re.DOTALL)


@pytest.mark.notebook
def test_the_first_page_works_as_typed(tmp_path):
    """Its models respond, its error has its line, what corrects it is exported."""
    _, *typed = _cells("start.md")
    *cells, failing, corrected, again, exporting = _executed(tmp_path, typed)

    [error] = [each for each in failing.outputs if each.output_type == "error"]
    last = "\n".join(error.traceback)
    assert "cell In[6] line 9 (model.py:8)" in last
    assert "message: ValueError: matmul" in last
    assert [] == [
        output
        for cell in (*cells, corrected, again, exporting)
        for output in cell.outputs
        if output.output_type not in ("display_data", "execute_result")
    ]
    [value] = [
        each for each in cells[1].outputs if each.output_type == "execute_result"
    ]
    assert "array([2., 4., 6.]" in value.data["text/plain"]
    assert "2 calls, 2 models" in cells[3].outputs[0].data["text/plain"]
    [z] = [each for each in again.outputs if each.output_type == "execute_result"]
    assert "array([3., 5., 7.]" in z.data["text/plain"]
    exported = tmp_path / "models" / "double" / "1" / "model.py"
    assert "x * 2" in exported.read_text()


@pytest.mark.notebook
def test_the_examples_on_runtimes_work_as_typed(tmp_path):
    """The simulated device replaces a GPU."""
    _, *typed = _cells("howto/gpu.md")
    said, named, _, _, moved, copies, hostile = _executed(tmp_path, typed)

    [stream] = said.outputs
    assert re.match(r"\w+: .*\nsimulated: 1 device", stream.text)
    assert "numpy\n" == named.outputs[0].text
    assert "array([2., 3., 4.]" in moved.outputs[-1].data["text/plain"]
    assert "source='gpu:0', target='cpu'" in copies.outputs[0].data["text/plain"]
    assert {"True (1, 0)", "False (2, 0)"} == {*hostile.outputs[0].text.split("\n")[:8]}


def _sources() -> Iterator[tuple[str, str]]:
    """Yield name and text of each page, and of each tutorial's cells."""
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        yield str(page.relative_to(ROOT)), page.read_text(encoding="utf-8")
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        yield path.name, "\n".join(cell.source for cell in cells)


def test_readers_import_what_is_public():
    """A name that only blsnb itself uses may change without notice."""
    internal = [
        f"{name}: {found[0].strip()}"
        for name, text in _sources()
        for found in _IMPORT.finditer(text)
        if not _imported(found) <= PUBLIC.get(found["module"], set())
    ]

    assert [] == internal


def test_pages_are_in_plain_english():
    """Phrases that tests refuse in sources are refused here, too."""
    found = {name: obscure(text) for name, text in _sources()}

    assert {} == {name: phrases for name, phrases in found.items() if phrases}


def _imported(found: re.Match[str]) -> set[str]:
    """Return the names of an import; that of a whole module has another one."""
    names = (found["names"] or "a whole module").split(",")
    return {each.partition(" as ")[0].strip() for each in names}
