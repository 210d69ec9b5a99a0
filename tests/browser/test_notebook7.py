"""Specification of the view in Notebook 7: what JupyterLab's reader has."""

import json
import re

import pytest
from playwright.sync_api import expect

from blsnb.views.format import TIMES

from .test_live import BELOW, CELL, ENDED, GROWN, INFER, KEPT, STEP, WALK, WATCH
from .view import View

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def frames():
    """How many views there were in each frame of the swap, and where the text was."""
    return []


@pytest.fixture(scope="module")
def early():
    """The notebook's text as it was saved while the run went on."""
    return []


@pytest.fixture(scope="module")
def walked(module_notebook7, frames, early):
    """A notebook whose run was watched while it executed, and has ended."""
    notebook, page = module_notebook7, module_notebook7.page
    file = notebook.write("walk.ipynb", "%load_ext blsnb", STEP, WALK, INFER, BELOW)
    enough = file.with_name("enough")
    enough.unlink(missing_ok=True)
    notebook.open("walk.ipynb")
    notebook.start()
    view = View(notebook.cell(CELL))
    expect(view.row("step")).to_contain_text(re.compile(rf"{TIMES}[1-9]\d"))
    view.row("step").click()
    view.tree.press("ArrowRight")
    page.wait_for_function(GROWN, arg=view.element.element_handle())
    notebook.wait_for(KEPT)
    notebook.save()
    early.append(file.read_text(encoding="utf-8"))
    page.evaluate(WATCH)
    enough.touch()
    notebook.wait_until_run()
    notebook.wait_for(ENDED)
    expect(view.element).not_to_contain_text("running")
    frames += page.evaluate("frames")
    notebook.save()
    return notebook


@pytest.fixture
def view(walked):
    return View(walked.cell(CELL))


@pytest.fixture(scope="module")
def saved(walked, lab_server):
    """Its text, which Notebook 7 trusts since it has saved it."""
    return (lab_server.notebooks / "walk.ipynb").read_text(encoding="utf-8")


def test_rows_come_live_and_the_swap_is_not_seen(view, frames):
    """Each frame has one view, content below it stays, and so does the selection."""
    views, tops = zip(*frames, strict=True)

    assert {1} == set(views)
    assert max(tops) - min(tops) < 2
    expect(view.subject).to_have_text("step")
    expect(view.selected_rows).to_have_text([re.compile(f"^step{TIMES}")])


def test_a_click_selects_in_all_panes(view):
    """Box, row and inspector are about the same call."""
    view.box("walk").click()

    expect(view.box("walk")).to_have_attribute("aria-pressed", "true")
    expect(view.selected_rows).to_have_text([re.compile("^walk")])
    expect(view.subject).to_have_text("walk")
    expect(view.tensor("Y")).to_be_visible()


def test_keys_in_the_view_never_reach_the_notebook(walked, view):
    """With focus in the timeline neither "d d" nor "x" deletes a cell."""
    before = walked.cell_count
    view.row("walk").click()
    expect(view.tree).to_be_focused()
    for key in ["d", "d", "x", "a", "b", "0", "0", "Escape", "Enter"]:
        walked.page.keyboard.press(key)
    expect(view.inspector).to_be_focused()
    for key in ["d", "d", "x"]:
        walked.page.keyboard.press(key)

    expect(view.row("walk")).to_be_visible()
    assert before == walked.cell_count


def test_the_theme_of_the_notebook_is_the_theme_of_the_view(walked, view):
    """Dark at once when the notebook turns dark, and light again."""
    frame = view.element.locator(".view")
    background = "element => getComputedStyle(element).backgroundColor"
    walked.theme("Dark")
    expect(frame).to_have_attribute("data-theme", "dark")
    assert "rgb(17, 19, 23)" == frame.evaluate(background)
    walked.theme("Light")

    expect(frame).to_have_attribute("data-theme", "light")


def test_after_a_reload_the_kernel_is_queried_as_before(walked):
    """The page is new, the kernel is not: it has slices that no document holds."""
    walked.open("walk.ipynb")
    view = View(walked.cell(CELL))
    view.row("walk").click()
    # The page connects to the kernel after it has drawn the document.
    expect(view.inspector).to_contain_text("Debug this call")
    view.slider(0).fill("2")

    expect(view.inspector).to_contain_text("[2, …] 40")


def test_reopened_when_its_kernel_is_gone_it_is_interactive(notebook7, saved):
    """The saved file contains all that it needs."""
    notebook7.put("reopened7.ipynb", saved)
    notebook7.open_without_kernel("reopened7.ipynb")
    view = View(notebook7.cell(CELL))
    view.box("walk").click()

    expect(view.selected_rows).to_have_text([re.compile("^walk")])
    expect(view.inspector).to_contain_text(re.compile(r"max\d+std\d+"))


@pytest.mark.slow  # in make test JupyterLab shows the same
def test_saved_while_it_executes_it_is_the_run_so_far(walked, notebook7, early):
    """A later reader sees that it is not the whole run."""
    notebook7.put("early7.ipynb", early[0])
    notebook7.open_without_kernel("early7.ipynb")
    view = View(notebook7.cell(CELL))
    view.box("step").click()

    expect(view.element).to_contain_text("still running when saved")
    expect(view.subject).to_have_text("step")


@pytest.mark.slow  # in make test JupyterLab shows the same
def test_reopened_untrusted_it_shows_the_picture(notebook7, saved):
    """Scripts do not run, and the picture is shown."""
    text = json.loads(saved)
    # Another text than the one that was signed when it was saved.
    text["cells"][-1]["source"] = ["# From somewhere else"]
    notebook7.put("untrusted7.ipynb", json.dumps(text))
    notebook7.open_without_kernel("untrusted7.ipynb")
    cell = notebook7.cell(CELL)
    picture = cell.get_by_role("img", name=re.compile("^walk, .* 2 models"))

    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.naturalWidth") > 900
    expect(View(cell).element).to_have_count(0)
