"""What the tutorial on faces shows, and in which order."""

import nbformat
import pytest

from .conftest import NOTEBOOKS
from .model_cells import model_cells

NAME = "14_faces"
MODELS = ["pnet", "rnet", "onet", "face_cascade"]


@pytest.mark.notebook
def test_each_of_its_runs_is_shown_once(executed):
    """Two runs leave two views behind, and the saved file keeps them."""
    bundles = [output.get("data", {}) for output in executed(NAME).outputs]
    pages = [bundle.get("text/html", "") for bundle in bundles]

    assert 2 == sum('class="blsnb-run"' in page for page in pages)


@pytest.mark.notebook
def test_its_saved_file_is_small(executed):
    """At most 1 MB, without the state of widgets."""
    notebook = executed(NAME).notebook

    assert "widgets" not in notebook.metadata
    assert len(nbformat.writes(notebook)) <= 1_000_000


def test_it_defines_its_models_in_the_order_in_which_they_are_needed():
    """A model that calls others is defined after them."""
    assert MODELS == list(model_cells(NOTEBOOKS / f"{NAME}.ipynb"))
