"""Specification of JupyterLab's views of a run that later runs have trimmed."""

import re

import pytest
from playwright.sync_api import expect

from .view import View

pytestmark = pytest.mark.browser

FLOW = "--input X:FP32[-1] --output Y:FP32[-1]"
DOUBLE = f"""%%triton_model double {FLOW}
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", x * 2)])
"""
LOOP = f"""%%triton_model loop {FLOW}
import time

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        x = pb_utils.get_input_tensor_by_name(request, "X")
        for k in range(int(x.as_numpy()[0])):
            if k == 1:
                # Long enough for a view while it executes.
                time.sleep(1.2)
            sent = pb_utils.Tensor("X", np.full(3, k, np.float32))
            pb_utils.InferenceRequest(
                model_name="double", inputs=[sent], requested_output_names=["Y"]
            ).exec()
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", x.as_numpy())])
"""
CELLS = [
    "%load_ext blsnb\nimport blsnb",
    DOUBLE,
    LOOP,
    "big = blsnb.infer('loop', {'X': [10_000]})",
    "view = big.widget()\nview",
    "blsnb.options.show = False\nlater = blsnb.infer('loop', {'X': [1_500]})",
    "view.selected = 8000",
    "print(big.replay(7000).this['Y'])",
    "view.selected = 5000",
    "try:\n    big.replay(5000)\nexcept blsnb.BlsnbError as error:\n    print(error)",
    "blsnb.options.show = True\nbig",
]
DOCUMENT, WIDGET, LATER, RIGHT, REPLAYED, DROPPED, REFUSED, AGAIN = range(3, 11)
ROW_HEIGHT = 22
LIMIT = "keep_calls=10200 limits the calls that are kept one by one"
PIN = "run.keep() pins a run"


@pytest.fixture(scope="module")
def notebook(module_lab):
    """The notebook up to the later run; views of the first one were drawn before it."""
    lab = module_lab
    lab.write("identity.ipynb", *CELLS)
    lab.open("identity.ipynb")
    for cell in (0, 1, 2, DOCUMENT, WIDGET):
        lab.run_cell(cell)
    for cell in (DOCUMENT, WIDGET):
        View(lab.cell(cell)).rows.first.wait_for()
    lab.run_cell(LATER)
    return lab


def values(view: View, x: int) -> None:
    """The call was sent a number three times, and doubled it."""
    expect(view.inspector.locator(".tensor").nth(0)).to_contain_text("X")
    y = view.inspector.get_by_role("group", name="Y, 1")
    expect(y).to_have_text(re.compile(rf"^({2 * x}(\.0)?){{3}}$"))


def test_a_widget_drawn_before_the_trim_shows_the_call_that_is_named(notebook):
    """Call k sent k - 1; another call's values are never shown."""
    notebook.run_cell(RIGHT)
    view = View(notebook.cell(WIDGET))

    expect(view.inspector.get_by_text("call 8000", exact=True)).to_be_visible()
    values(view, 7999)


def test_a_call_is_replayed_as_it_was_recorded(notebook):
    """A call that is no longer kept is not replaced by another one."""
    notebook.run_cell(REPLAYED)
    notebook.run_cell(REFUSED)

    expect(notebook.cell(REPLAYED)).to_contain_text("[13998. 13998. 13998.]")
    expect(notebook.cell(REFUSED)).to_contain_text("call 5000 is no longer kept")
    expect(notebook.cell(REFUSED)).to_contain_text(LIMIT)


def test_a_widget_drawn_before_the_trim_names_a_dropped_call(notebook):
    """The reason is beside its tensors, and above the panes for the whole run."""
    notebook.run_cell(DROPPED)
    view = View(notebook.cell(WIDGET))

    expect(view.inspector.get_by_text("call 5000", exact=True)).to_be_visible()
    expect(view.inspector).to_contain_text("Call 5000 is no longer kept")
    expect(view.inspector).to_contain_text(PIN)
    expect(view.element.get_by_role("note", name="No longer kept")).to_contain_text(
        re.compile(r"^[\d,]+ calls dropped: keep_calls=10200")
    )


def test_a_document_drawn_before_the_trim_shows_the_same(notebook):
    """It is connected to the kernel, since its run was shown while it executed."""
    view = View(notebook.cell(DOCUMENT))
    view.row("double").click()
    view.tree.press("ArrowRight")
    show(view, 8000)
    values(view, 7999)
    show(view, 5000)
    expect(view.inspector).to_contain_text("Call 5000 is no longer kept")


def show(view: View, call: int) -> None:
    """Scroll to a call, which is a row below two others, and select it."""
    place = (call + 1 - 5) * ROW_HEIGHT
    view.tree.evaluate("(tree, top) => { tree.scrollTop = top; }", place)
    view.tree.get_by_role("treeitem", name=f"double call {call}", exact=True).click()
    expect(view.inspector.get_by_text(f"call {call}", exact=True)).to_be_visible()


def test_a_view_drawn_after_the_trim_names_dropped_calls_without_a_click(notebook):
    """How many calls, which setting, and how to keep them."""
    notebook.run_cell(AGAIN)
    view = View(notebook.cell(AGAIN))
    note = view.element.get_by_role("note", name="No longer kept")

    expect(note).to_contain_text(LIMIT)
    expect(note).to_contain_text(PIN)
    # The selection of the first document is restored by its id.
    expect(view.inspector).to_contain_text("Call 5000 is no longer kept")
    view.tree.press("End")
    expect(view.inspector.get_by_text("call 10000", exact=True)).to_be_visible()
    values(view, 9999)
