"""Tutorial 1: it runs as it is, and it is committed as style.md wants it."""

import ast
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from .model_cells import code_cells, file_cells, model_cells

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "01_first_pipeline.ipynb"
MODELS = ["preprocess", "classify", "pipeline", "pnet", "rnet", "onet", "face_cascade"]


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """Return the outputs of a Run All in a fresh kernel, in an empty folder."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    folder = {"metadata": {"path": str(tmp_path_factory.mktemp("anywhere"))}}
    NotebookClient(notebook, timeout=60, allow_errors=True, resources=folder).execute()
    return [output for cell in notebook.cells for output in cell.get("outputs", ())]


@pytest.mark.notebook
def test_it_runs_from_top_to_bottom_in_a_fresh_kernel(executed):
    """Run All works anywhere, and no cell prints an error or a warning."""
    complaints = [
        output.get("traceback") or output.text
        for output in executed
        if output.output_type == "error" or output.get("name") == "stderr"
    ]
    assert [] == complaints


@pytest.mark.notebook
def test_each_of_its_runs_is_shown_once(executed):
    """Three runs leave three views behind, and the saved file keeps them."""
    pages = [output.get("data", {}).get("text/html", "") for output in executed]

    assert 3 == sum('class="blsnb-run"' in page for page in pages)


def test_it_has_at_most_fifteen_code_cells():
    """A tutorial stays short enough to be read in one sitting."""
    assert len(code_cells(NOTEBOOK)) <= 15


def test_it_is_committed_without_outputs():
    """What a cell prints is made by the reader, not kept in the repository."""
    kept = [cell["outputs"] or cell["execution_count"] for cell in code_cells(NOTEBOOK)]

    assert [None] * len(kept) == kept


def test_its_first_cell_loads_the_extension():
    """The reader begins with one line that is the same in every tutorial."""
    assert "%load_ext blsnb" == code_cells(NOTEBOOK)[0]["source"]


def test_its_last_cell_ends_in_an_assertion():
    """The reader can check that what was promised has come true."""
    last = ast.parse(str(code_cells(NOTEBOOK)[-1]["source"])).body[-1]

    assert isinstance(last, ast.Assert)


def test_it_defines_its_models_in_the_order_in_which_they_are_needed():
    """A model that calls others is defined after them."""
    assert MODELS == list(model_cells(NOTEBOOK))


def test_its_models_import_only_what_a_plain_server_has():
    """No image library: NumPy and onnxruntime are all that a model asks for."""
    siblings = {Path(path).stem for path in file_cells(NOTEBOOK)}
    sources = [cell.source for cell in model_cells(NOTEBOOK).values()]
    sources += file_cells(NOTEBOOK).values()

    foreign = set().union(*map(_imported, sources)) - sys.stdlib_module_names - siblings

    assert {"numpy", "onnxruntime", "triton_python_backend_utils"} == foreign


def _imported(source: str) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(str(node.module).partition(".")[0])
    return names
