"""Specification of the tutorial on faces in JupyterLab: run, explored, reopened."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from .view import View

pytestmark = pytest.mark.browser

TUTORIAL = Path(__file__).parents[2] / "notebooks" / "14_faces.ipynb"
FACES = ["face_cascade", "pnet", "rnet", "onet"]


@pytest.fixture(scope="module")
def ran(module_lab):
    """The tutorial after Run All, saved and still open."""
    module_lab.put("tutorial.ipynb", TUTORIAL.read_text(encoding="utf-8"))
    module_lab.open("tutorial.ipynb")
    module_lab.run_all()
    module_lab.save()
    return module_lab


@pytest.fixture
def tutorial(ran):
    """The tutorial, shown again if a test has opened another notebook."""
    ran.open_beside("tutorial.ipynb")
    return ran


@pytest.fixture(scope="module")
def saved(ran, lab_server):
    """Its text as it was saved, which is what JupyterLab trusts."""
    return (lab_server.notebooks / "tutorial.ipynb").read_text(encoding="utf-8")


def test_run_all_shows_runs_that_can_be_explored(tutorial):
    """Boxes are found by role and name; a click leads to a tensor's statistics."""
    view = View(tutorial.cell(tutorial.cell_index("hopper")))

    assert [1] * len(FACES) == [view.box(model).count() for model in FACES]
    view.box("onet").click()
    expect(view.selected_rows).to_have_text([re.compile("^onet")])
    expect(view.subject).to_have_text("onet")
    view.tensor("PIXELS").click()
    expect(view.tensor("PIXELS")).to_have_attribute("aria-expanded", "true")
    statistics = r"min\d+mean\d+\.?\d*zeros\d+\.\d %max\d+std\d+\.?\d*NaN0"
    expect(view.inspector).to_contain_text(re.compile(statistics))


def test_the_temple_shows_that_no_face_came_so_far(module_lab, saved):
    """A model that was not called has no box; the inspector shows what went in where
    nothing came out.
    """
    lab = module_lab
    lab.put("temple.ipynb", saved)
    lab.open_beside("temple.ipynb", kernel=False)
    view = View(lab.cell(lab.cell_index("china")))
    expect(view.box("rnet")).to_have_count(1)

    expect(view.tensor("IMAGE")).to_have_attribute("aria-expanded", "true")
    assert [1, 1, 1, 0] == [view.box(model).count() for model in FACES]


def test_reopened_without_a_kernel_it_is_still_interactive(module_lab, saved):
    """A saved, trusted notebook needs no kernel."""
    lab = module_lab
    lab.put("reopened.ipynb", saved)
    lab.open_without_kernel("reopened.ipynb")
    view = View(lab.cell(lab.cell_index("hopper")))
    view.box("onet").click()
    view.tensor("PIXELS").click()

    assert not lab.has_kernel
    expect(view.selected_rows).to_have_text([re.compile("^onet")])
    expect(view.inspector).to_contain_text(re.compile(r"max\d+std\d+"))
    expect(view.picture("PIXELS, 48")).to_be_visible()


def test_reopened_untrusted_it_shows_the_picture(module_lab, saved):
    """Scripts do not run, and the picture is shown."""
    lab, notebook = module_lab, json.loads(saved)
    # Another text than the one that was signed when it was saved.
    notebook["cells"][0]["source"] = ["# From somewhere else"]
    lab.put("untrusted.ipynb", json.dumps(notebook))
    lab.open_beside("untrusted.ipynb", kernel=False)
    cell = lab.cell(lab.cell_index("hopper"))
    picture = cell.get_by_role("img", name=re.compile("^face_cascade, .* 4 models"))

    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.naturalWidth") > 900
    expect(View(cell).element).to_have_count(0)
