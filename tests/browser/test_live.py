"""Specification of a run while it executes, and of what takes its place."""

import json
import re

import pytest
from playwright.sync_api import expect

from blsnb.views.format import TIMES

from .view import View

pytestmark = pytest.mark.browser

STEP = """%%triton_model step --input X:FP32[-1,-1,-1] --output Y:FP32[-1,-1,-1]
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        x = requests[0].inputs()[0].as_numpy()
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", x + 1)])]
"""
# Calls its step until the test has seen enough: it leaves a file.
WALK = """%%triton_model walk --input X:FP32[-1,-1,-1] --output Y:FP32[-1,-1,-1]
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
INFER = """import blsnb
import numpy as np
x = np.arange(4 * 40 * 300, dtype=np.float32).reshape(4, 40, 300)
run = blsnb.infer("walk", {"X": x})
"""
BELOW = "# Below the run"
CELL = 3

WATCH = """() => {
    const below = [...document.querySelectorAll("h1")]
        .find((each) => each.textContent.startsWith("Below the run"));
    globalThis.frames = [];
    const look = () => {
        const views = document.querySelectorAll(".blsnb-view").length;
        frames.push([views, below.getBoundingClientRect().top]);
        requestAnimationFrame(look);
    };
    look();
}"""
# More than what every view has at least: it has to be restored, too.
GROWN = "view => view.offsetHeight > 500"
_OUTPUT = f"""jupyterapp.shell.currentWidget.content.widgets[{CELL}]
    .model.outputs.get(0).data["text/plain"]"""
# The notebook's own copy tells of tens of calls, and that they are not all.
KEPT = f"() => /still executing/.test({_OUTPUT}) && /step .?[1-9]\\d/.test({_OUTPUT})"
ENDED = f"() => !/still executing/.test({_OUTPUT})"
# Marked, to be known again.
RENEWED = f"""(view) => {{
    const [now, before] = [{_OUTPUT}, view.blsnbText ?? {_OUTPUT}];
    view.blsnbTimes = (view.blsnbTimes ?? 0) + (now !== before);
    view.blsnbText = now;
    return view.blsnbTimes === 2;
}}"""
SECONDS = re.compile(r"\D\d{1,2}(\.\d+)? s wall| ms wall")
TENS_OF_CALLS = re.compile(rf"{TIMES}[1-9]\d")


@pytest.fixture
def running(lab):
    """A notebook whose last cell runs until the test ends it."""
    notebook = lab.write("live.ipynb", "%load_ext blsnb", STEP, WALK, INFER, BELOW)
    enough = notebook.with_name("enough")
    enough.unlink(missing_ok=True)
    lab.open("live.ipynb")
    lab.start()
    yield lab, enough
    enough.touch()


@pytest.fixture
def end(running):
    """Tell the model that it is enough, and wait for the document."""
    lab, enough = running

    def ended():
        enough.touch()
        lab.wait_until_run()
        lab.wait_for(ENDED)
        expect(View(lab.page).element).not_to_contain_text("running")

    return ended


@pytest.fixture
def view(running):
    """The view of the run, which has made tens of calls and still runs."""
    lab, _ = running
    view = View(lab.cell(CELL))
    expect(view.row("step")).to_contain_text(TENS_OF_CALLS)
    return view


def test_it_is_shown_while_it_executes_and_then_as_a_document(view, end):
    """Rows grow; the document that stays has all of them, and the selection."""
    expect(view.element).to_contain_text("running")
    expect(view.element).to_contain_text(SECONDS)
    view.row("step").click()
    expect(view.subject).to_have_text("step")
    end()

    expect(view.element).to_have_count(1)
    expect(view.element).not_to_contain_text("running")
    expect(view.box("walk")).to_have_count(1)
    expect(view.subject).to_have_text("step")
    expect(view.selected_rows).to_have_text([re.compile(f"^step{TIMES}")])


def test_neither_renewals_nor_the_swap_are_seen(view, end, page):
    """Each frame has one view, nothing below it moves, and focus and position stay."""
    # The stored document is replaced while the run continues.
    view.row("step").click()
    view.tree.press("ArrowRight")
    page.wait_for_function(GROWN, arg=view.element.element_handle())
    view.tree.evaluate("tree => tree.scrollTop = 40")
    page.evaluate(WATCH)
    width = view.element.bounding_box()["width"]
    page.wait_for_function(RENEWED, arg=view.element.element_handle())
    assert 40 == view.tree.evaluate("tree => tree.scrollTop")
    expect(view.tree).to_be_focused()
    end()
    view.box("walk").click()
    expect(view.tensor("Y")).to_be_visible()

    views, tops = zip(*page.evaluate("frames"), strict=True)
    assert {1} == set(views)
    assert max(tops) - min(tops) < 2
    assert width == view.element.bounding_box()["width"]


SCROLL = """tree => new Promise(done => {
    tree.addEventListener("scroll", done, {once: true});
    tree.scrollTop = 40;
})"""
"""Scrolls the rows, and waits until the page has been notified, as in a later frame."""


def test_what_was_set_by_hand_is_handed_over(view, end):
    """Zoom, filter, critical path, the height of a pane, where the rows are."""
    view.row("step").click()
    view.tree.press("ArrowRight")
    view.tree.press("+")
    expect(view.tree).not_to_have_attribute("aria-description", "shows the whole run")
    zoomed = view.tree.get_attribute("aria-description")
    view.tree.press("c")
    view.filter.fill(">1s")
    border = view.element.get_by_role("separator", name="Height of the call graph")
    border.press("ArrowDown")
    high = view.graph.bounding_box()["height"]
    view.tree.evaluate(SCROLL)
    end()

    button = view.element.get_by_role("button", name="critical path")
    expect(view.tree).to_have_attribute("aria-description", zoomed)
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(view.filter).to_have_value(">1s")
    assert high == view.graph.bounding_box()["height"]
    assert 40 == view.tree.evaluate("tree => tree.scrollTop")


def test_the_document_queries_the_kernel_as_long_as_it_lives(running, view, end):
    """The kernel answers slices that it does not contain, also in a reloaded page, or
    it shows the reason.
    """
    lab, _ = running
    end()
    view.slider(0).fill("1")
    expect(view.inspector).to_contain_text("[1, …] 40")
    lab.save()
    lab.open("live.ipynb")
    lab.cell(CELL)
    view.slider(0).fill("2")
    expect(view.inspector).to_contain_text("[2, …] 40")
    lab.shut_down_kernel()
    view.slider(0).fill("3")

    expect(view.inspector).to_contain_text("the kernel that ran this is gone")
    expect(view.inspector).to_contain_text("[2, …] 40")


RESTART = "void jupyterapp.shell.currentWidget.sessionContext.restartKernel()"


@pytest.fixture
def saved(running, view):
    """The text of the notebook, saved during the run."""
    lab, _ = running
    lab.wait_for(KEPT)
    lab.save()
    return (lab.server.notebooks / "live.ipynb").read_text(encoding="utf-8")


def test_saved_while_it_executes_it_is_the_run_so_far(running, saved):
    """A reader sees that the run was not complete, and can explore it, or has its
    picture if the page does not trust the notebook.
    """
    lab, _ = running
    shown = View(lab.cell(CELL))
    lab.page.evaluate(RESTART)
    expect(shown.element).to_contain_text("the kernel is gone")
    shown.row("step").click()
    shown.row("walk").click()
    expect(shown.inspector).to_contain_text("the kernel that ran this is gone")
    lab.put("reopened.ipynb", saved)
    lab.open_without_kernel("reopened.ipynb")
    cell = lab.cell(CELL)
    view = View(cell)
    view.box("step").click()
    view.box("walk").click()

    expect(view.element).to_contain_text("still running when saved")
    expect(view.row("step")).to_contain_text(TENS_OF_CALLS)
    expect(view.inspector).to_contain_text("was still executing when the notebook")
    expect(cell).not_to_contain_text("model not found")
    assert not lab.has_kernel
    text = json.loads(saved)
    text["cells"][-1]["source"] = ["# From somewhere else"]
    lab.put("untrusted.ipynb", json.dumps(text))
    lab.open_beside("untrusted.ipynb", kernel=False)

    expect(
        lab.cell(CELL).get_by_role("img", name=re.compile("^walk, "))
    ).to_be_visible()
    expect(
        lab.cell(CELL).get_by_text(re.compile("was still executing"))
    ).to_be_visible()
    assert 0 == View(lab.cell(CELL)).element.count()


STREAM = """%%triton_model ticks --decoupled --input X:FP32[1] --output Y:FP32[1]
import time
from pathlib import Path
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        sender = requests[0].get_response_sender()
        x = requests[0].inputs()[0].as_numpy()
        while not Path("enough").exists():
            time.sleep(0.05)
            sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("Y", x)]))
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""
# The cell lasts until there is a live view; the stream outlives it.
READ = """import threading, time
import blsnb
def read():
    for response in blsnb.stream("ticks", {"X": [1.0]}):
        pass
threading.Thread(target=read).start()
time.sleep(1.5)
"""
TENS_OF_RESPONSES = re.compile(r"[1-9]\d responses")


def test_a_stream_is_shown_while_its_responses_come(lab):
    """Ended cells and reloaded pages show it, too."""
    notebook = lab.write("stream.ipynb", "%load_ext blsnb", STREAM, READ)
    enough = notebook.with_name("enough")
    enough.unlink(missing_ok=True)
    lab.open("stream.ipynb")
    lab.run_all()
    view = View(lab.cell(2))
    expect(view.row("ticks")).to_contain_text(TENS_OF_RESPONSES)
    lab.save()
    lab.open("stream.ipynb")
    view = View(lab.cell(2))
    expect(view.element).to_contain_text(re.compile("running(?! when saved)"))
    before = view.row("ticks").text_content()
    expect(view.row("ticks")).not_to_have_text(before)
    expect(view.element).to_contain_text("running")
    enough.touch()

    expect(view.element).not_to_contain_text("running")
