"""Specification of the notebook's debugger in cells that define models."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .axe import violations
from .lab import Lab
from .view import View

pytestmark = [
    pytest.mark.browser,
    # A debugged process is slow to load models, on two busy cores.
    pytest.mark.timeout(180),
]
_PATIENCE_MS = 60_000
CHILD = """%%triton_model child --input X:FP32[-1] --output Y:FP32[-1]
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        doubled = [each.inputs()[0].as_numpy() * 2 for each in requests]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", y)]) for y in doubled]
"""
PARENT = """%%triton_model parent --input X:FP32[-1] --output Y:FP32[-1]
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    async def execute(self, requests):
        inner = pb_utils.InferenceRequest(
            model_name="child",
            inputs=requests[0].inputs(),
            requested_output_names=["Y"],
        )
        answer = await inner.async_exec()
        outputs = answer.output_tensors()
        return [pb_utils.InferenceResponse(outputs)]
"""
RUN = "import blsnb\nrun = blsnb.infer('parent', {'X': [1.0, 2.0]})"
CELLS = ("%load_ext blsnb", CHILD, PARENT, RUN)


class Debugger:
    """The debugger's panel, and the dots of a notebook."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._page = lab.page
        self.variables = self._page.locator(".jp-DebuggerVariables")

    def switch_on(self) -> None:
        """Click the bug in the notebook's toolbar."""
        button = self._page.locator(".jp-DebuggerBugButton:visible").first
        button.click()
        expect(self._page.locator(".cm-breakpoint-gutter").first).to_be_visible(
            timeout=_PATIENCE_MS
        )

    def switch_off(self) -> None:
        """Click the bug again."""
        self._page.locator(".jp-DebuggerBugButton:visible").first.click()
        expect(self._page.locator(".cm-breakpoint-gutter")).to_have_count(0)

    def click_gutter(self, cell: int, line: int) -> None:
        """Click left of a line of a cell, and wait for the dot."""
        shown = self._lab.cell(cell)
        text = shown.locator(".cm-line").nth(line - 1).bounding_box()
        gutter = shown.locator(".cm-gutter.cm-breakpoint-gutter").bounding_box()
        assert text is not None
        assert gutter is not None
        x = gutter["x"] + gutter["width"] / 2
        self._page.mouse.click(x, text["y"] + text["height"] / 2)
        expect(shown.locator(".cm-breakpoint-icon")).to_have_count(1)

    def expect_stop(self, cell: int, line: int, frame: str) -> None:
        """Wait until a line of a cell is marked as the place of the stop."""
        first = self._page.locator(".jp-DebuggerCallstackFrame").first
        expect(first).to_contain_text(frame, timeout=_PATIENCE_MS)
        marked = self._lab.cell(cell).locator(".jp-DebuggerEditor-highlight")
        expect(marked).to_have_text(self.lines(cell)[line - 1])

    def lines(self, cell: int) -> list[str]:
        return CELLS[cell].split("\n")


@pytest.fixture(params=["lab", pytest.param("notebook7", marks=pytest.mark.slow)])
def host(request):
    """JupyterLab, and Notebook 7."""
    host: Lab = request.getfixturevalue(request.param)
    return host


def test_a_click_on_the_gutter_stops_in_the_cell_and_keys_lead_into_the_child(host):
    """Variables are shown at the stop; Shift+F11 returns to the parent's cell."""
    host.write("debugged.ipynb", *CELLS)
    host.open("debugged.ipynb")
    for index in range(3):
        host.run_cell(index)
    debugger = Debugger(host)
    debugger.switch_on()
    debugger.click_gutter(2, 11)
    host.cell(3)
    host.page.evaluate("void jupyterapp.commands.execute('notebook:run-cell')")

    debugger.expect_stop(2, 11, "execute (parent, In[3])")
    expect(debugger.variables).to_contain_text("inner")
    host.page.keyboard.press("F11")
    debugger.expect_stop(1, 6, "execute (child, In[2])")
    host.page.keyboard.press("Shift+F11")
    debugger.expect_stop(2, 12, "execute (parent, In[3])")
    expect(debugger.variables).to_contain_text("answer")
    host.page.keyboard.press("F9")
    host.wait_until_run()


@pytest.mark.slow
def test_the_inspector_stops_in_a_recorded_call(lab, axe):
    """The button is there while the kernel is; its answer is a sentence."""
    lab.write("button.ipynb", *CELLS)
    lab.open("button.ipynb")
    for index in range(4):
        lab.run_cell(index)
    view = View(lab.cell(3))
    view.row("child").click()
    button = view.inspector.get_by_role("button", name="Debug this call")
    said = view.inspector.get_by_role("status").first
    button.click(timeout=_PATIENCE_MS)
    expect(said).to_contain_text("switch on the notebook's", timeout=_PATIENCE_MS)

    debugger = Debugger(lab)
    debugger.switch_on()
    button.focus()
    lab.page.keyboard.press("Enter")
    expect(said).to_contain_text("continue there", timeout=_PATIENCE_MS)
    debugger.expect_stop(1, 6, "execute (child, In[2])")
    expect(debugger.variables).to_contain_text("requests")
    assert [] == violations(lab.page, axe)
    lab.command("debugger:continue")
    recorded = "Call 1 has run again: its outputs are as recorded."
    expect(said).to_have_text(recorded, timeout=_PATIENCE_MS)
    lab.restart_kernel()
    expect(button).to_have_count(0)
