"""Specification of keys and theme in a notebook: the view and its host keep apart."""

import pytest
from playwright.sync_api import expect

from .test_live import STEP
from .view import View

pytestmark = pytest.mark.browser

INFER = 'import blsnb\nblsnb.infer("step", {"X": [[[0, 1, 2]]]})'


@pytest.fixture(scope="module")
def lab(module_lab):
    """A notebook with a run, followed by a cell."""
    module_lab.write("keys.ipynb", "%load_ext blsnb", STEP, INFER, "# The end")
    module_lab.open("keys.ipynb")
    module_lab.run_all()
    return module_lab


@pytest.fixture
def view(lab):
    """The view of the run, with the focus."""
    view = View(lab.cell(2))
    view.row("step").click()
    expect(view.tree).to_be_focused()
    return view


def test_keys_in_the_view_never_reach_the_notebook(lab, view):
    """With focus in the timeline neither "d d" nor "x" deletes a cell."""
    before = lab.cell_count
    for key in ["d", "d", "x", "a", "b", "0", "0", "Escape", "Enter"]:
        lab.page.keyboard.press(key)
    expect(view.inspector).to_be_focused()
    for key in ["d", "d", "x"]:
        lab.page.keyboard.press(key)

    expect(view.row("step")).to_be_visible()
    assert before == lab.cell_count


def test_the_theme_of_the_notebook_is_the_theme_of_the_view(lab, view):
    """Dark at once when the notebook turns dark, and light again."""
    frame = view.element.locator(".view")
    background = "element => getComputedStyle(element).backgroundColor"
    assert "rgb(255, 255, 255)" == frame.evaluate(background)
    lab.theme("Dark")
    expect(frame).to_have_attribute("data-theme", "dark")
    assert "rgb(17, 19, 23)" == frame.evaluate(background)
    lab.theme("Light")

    expect(frame).to_have_attribute("data-theme", "light")
