"""Every tutorial: it runs as it is, and it is committed as a reader wants it."""

import ast
import sys
from pathlib import Path

import pytest
from asserting import some
from time_limit import busyness

import blsnb

from .conftest import NOTEBOOKS
from .executing import MAY_FAIL, complaint
from .model_cells import code_cells, file_cells, model_cells

PATHS = sorted(NOTEBOOKS.glob("[0-9]*.ipynb"))
TUTORIALS = [path.stem for path in PATHS]
ERRORS = "03_errors"
"""Its request fails and leaves no run to save."""
FINDINGS = {ERRORS: 2 * ["calls model 'treble', which the repository does not have"]}
"""The findings on the cards of a tutorial that shows mistakes."""
# A minute is promised on processors that do nothing else.
LONGEST_S = 60


@pytest.mark.notebook
@pytest.mark.timeout(120)  # Whichever test is the first executes the notebook.
@pytest.mark.parametrize("name", TUTORIALS)
def test_it_runs_from_top_to_bottom_in_a_fresh_kernel(executed, name):
    """Run All works anywhere; what fails was meant to, and nothing is on stderr."""
    done = executed(name)
    complaints = [
        (cell.id, complaint(output))
        for cell in done.cells
        for output in cell.outputs
        if complaint(output) and MAY_FAIL not in cell.metadata.get("tags", ())
    ]

    assert [] == complaints
    assert done.seconds < LONGEST_S * busyness()


@pytest.mark.notebook
@pytest.mark.timeout(120)  # Whichever test is the first executes the notebook.
@pytest.mark.parametrize("name", TUTORIALS)
def test_a_cell_that_is_marked_as_failing_fails(executed, name):
    """The text announces an error."""
    promised = [
        c for c in executed(name).cells if MAY_FAIL in c.metadata.get("tags", ())
    ]

    assert [] == [c.id for c in promised if not any(map(complaint, c.outputs))]


@pytest.mark.notebook
@pytest.mark.timeout(120)  # Whichever test is the first executes the notebook.
@pytest.mark.parametrize("name", TUTORIALS)
def test_the_checks_of_its_sources_raise_no_false_alarm(executed, name):
    """Cards have findings only where the tutorial shows a mistake."""
    cards = [
        output.data["text/plain"]
        for output in executed(name).outputs
        if "blsnb-card" in output.get("data", {}).get("text/html", "")
    ]
    found = [
        line.partition(": ")[2]
        for card in cards
        for line in card.splitlines()
        if ".py:" in line
    ]

    assert FINDINGS.get(name, []) == found
    assert cards


@pytest.mark.notebook
@pytest.mark.timeout(120)  # Whichever test is the first executes the notebook.
@pytest.mark.parametrize("name", TUTORIALS)
def test_no_run_is_shown_twice_and_none_is_left_as_a_widget(executed, name):
    """What a cell shows is a document that the saved notebook keeps."""
    for cell in some(executed(name).cells):
        bundles = [output.get("data", {}) for output in cell.outputs]
        widgets = [
            b for b in bundles if "application/vnd.jupyter.widget-view+json" in b
        ]
        runs = [
            b["text/html"] for b in bundles if "blsnb-run" in b.get("text/html", "")
        ]
        assert [] == widgets
        assert len(set(runs)) == len(runs)


@pytest.mark.notebook
@pytest.mark.timeout(120)  # Whichever test is the first executes the notebook.
@pytest.mark.parametrize("name", [each for each in TUTORIALS if each != ERRORS])
def test_its_saved_runs_can_be_used_without_its_models(executed, name, tmp_path):
    """They are viewed, compared and saved again in another process."""
    for path in some(sorted(executed(name).runs.iterdir())):
        run = blsnb.load_run(path)
        assert [] == run.compare(run).changes
        assert run.save(tmp_path / path.name).read_bytes() == path.read_bytes()
        assert run.save(tmp_path / f"{path.stem}.html").stat().st_size > 50_000


@pytest.mark.parametrize("path", PATHS, ids=TUTORIALS)
def test_it_has_at_most_fifteen_code_cells(path):
    """A tutorial stays short enough to be read in one sitting."""
    assert len(code_cells(path)) <= 15


@pytest.mark.parametrize("path", PATHS, ids=TUTORIALS)
def test_it_is_committed_without_outputs(path):
    """What a cell prints is made by the reader, not kept in the repository."""
    kept = [cell["outputs"] or cell["execution_count"] for cell in code_cells(path)]

    assert [None] * len(kept) == kept


@pytest.mark.parametrize("path", PATHS, ids=TUTORIALS)
def test_its_first_cell_loads_the_extension(path):
    """The reader begins with one line that is the same in every tutorial."""
    assert "%load_ext blsnb" == code_cells(path)[0]["source"]


@pytest.mark.parametrize("path", PATHS, ids=TUTORIALS)
def test_its_last_cell_ends_in_an_assertion(path):
    """Readers can check the result."""
    last = ast.parse(str(code_cells(path)[-1]["source"])).body[-1]

    assert isinstance(last, ast.Assert)


@pytest.mark.parametrize("path", PATHS, ids=TUTORIALS)
def test_its_models_import_only_what_a_plain_server_has(path):
    """No image library: NumPy and onnxruntime, and CuPy for tensors on a card."""
    siblings = {Path(name).stem for name in file_cells(path)}
    sources = [cell.source for cell in model_cells(path).values()]
    sources += file_cells(path).values()

    foreign = set().union(*map(_imported, sources)) - sys.stdlib_module_names - siblings

    assert foreign <= {"numpy", "onnxruntime", "cupy", "triton_python_backend_utils"}


def test_they_are_numbered_in_reading_order():
    """No number is used twice, and none is missing."""
    numbers = [int(name.partition("_")[0]) for name in TUTORIALS]

    assert list(range(1, len(numbers) + 1)) == numbers


def _imported(source: str) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(str(node.module).partition(".")[0])
    return names
