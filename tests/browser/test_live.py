"""Specification of a run while it executes, and of what takes its place."""

import re

import pytest
from playwright.sync_api import expect

from .view import View

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

STEP = """%%triton_model step --input X:FP32[-1] --output Y:FP32[-1]
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        x = requests[0].inputs()[0].as_numpy()
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", x + 1)])]
"""
# Calls its step until the test has seen enough: it leaves a file.
WALK = """%%triton_model walk --input X:FP32[-1] --output Y:FP32[-1]
import time
from pathlib import Path
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        y = requests[0].inputs()[0].as_numpy()
        while not Path("enough").exists():
            time.sleep(0.05)
            request = pb_utils.InferenceRequest(
                model_name="step", requested_output_names=["Y"],
                inputs=[pb_utils.Tensor("X", y)])
            y = request.exec().output_tensors()[0].as_numpy()
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", y)])]
"""
INFER = 'import blsnb\nrun = blsnb.infer("walk", {"X": [0, 1, 2]})'
BELOW = "# Below the run"
CELL = 3

WATCH = """() => {
    const below = [...document.querySelectorAll("h1")]
        .find((each) => each.textContent.startsWith("Below the run"));
    globalThis.tops = [];
    const look = () => {
        tops.push(below.getBoundingClientRect().top);
        requestAnimationFrame(look);
    };
    look();
}"""
OLD = ".jp-OutputArea-output:not([data-mime-type='text/html']) .blsnb-view"
NEW = ".blsnb-run .blsnb-view"


@pytest.fixture
def running(lab):
    """A notebook whose last cell runs until it is told that it is enough."""
    notebook = lab.write("live.ipynb", "%load_ext blsnb", STEP, WALK, INFER, BELOW)
    enough = notebook.with_name("enough")
    enough.unlink(missing_ok=True)
    lab.open("live.ipynb")
    lab.start()
    yield lab, enough
    enough.touch()


def test_it_is_shown_while_it_executes_and_then_as_a_document(running):
    """Rows grow in the widget; at the end a document stands in its place."""
    lab, enough = running
    view = View(lab.cell(CELL))
    expect(view.element).to_contain_text("running")
    expect(view.row("step")).to_contain_text(re.compile(r"×[1-9]\d"))
    assert 0 == lab.page.locator(NEW).count()
    enough.touch()
    lab.wait_until_run()
    expect(lab.page.locator(NEW)).to_have_count(1)

    expect(view.element).to_have_count(1)
    expect(view.element).not_to_contain_text("running")
    expect(view.box("walk")).to_have_count(1)


def test_the_swap_does_not_move_the_page(running):
    """What stands below a run stays where it is, in every frame."""
    lab, enough = running
    view = View(lab.cell(CELL))
    expect(view.row("step")).to_contain_text(re.compile(r"×[1-9]\d"))
    lab.page.evaluate(WATCH)
    width = view.element.bounding_box()["width"]
    enough.touch()
    lab.wait_until_run()
    expect(lab.page.locator(NEW)).to_have_count(1)
    expect(view.inspector.get_by_role("button", name=re.compile("^← Y|Y"))).to_be_visible()

    tops = lab.page.evaluate("tops")
    assert len(tops) > 2
    assert max(tops) - min(tops) < 2
    assert width == view.element.bounding_box()["width"]


def test_selection_is_handed_over(running):
    """Who looked at a call goes on looking at it."""
    lab, enough = running
    view = View(lab.cell(CELL))
    expect(view.row("step")).to_contain_text(re.compile(r"×[1-9]\d"))
    view.row("step").click()
    expect(view.subject).to_have_text("step")
    enough.touch()
    lab.wait_until_run()
    expect(lab.page.locator(NEW)).to_have_count(1)

    expect(view.subject).to_have_text("step")
    expect(view.selected_rows).to_have_text([re.compile("^step×")])


def test_the_document_asks_the_kernel_while_there_is_one(running):
    """Connected, a document shows slices that it does not contain."""
    lab, enough = running
    enough.touch()
    lab.wait_until_run()
    view = View(lab.cell(CELL))
    view.row("walk").click()
    expect(view.tensor("Y")).to_be_visible()
    lab.shut_down_kernel()
    view.row("walk").click()

    expect(view.tensor("Y")).to_be_visible()
    assert not lab.has_kernel
