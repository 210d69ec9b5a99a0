"""Specification of the connection of finished runs to their kernel, in real hosts."""

import re

import pytest
from playwright.sync_api import expect

from .lab import Lab
from .test_identity import DOUBLE, FLOW
from .view import View

pytestmark = pytest.mark.browser

LOOP = f"""%%triton_model loop {FLOW}
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        x = pb_utils.get_input_tensor_by_name(request, "X")
        for k in range(int(x.as_numpy()[0])):
            sent = pb_utils.Tensor("X", np.full(3, k, np.float32))
            pb_utils.InferenceRequest(
                model_name="double", inputs=[sent], requested_output_names=["Y"]
            ).exec()
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", x.as_numpy())])
"""
START = "%load_ext blsnb\nimport blsnb"
SHORT = 3
CELLS = [START, DOUBLE, LOOP, "blsnb.infer('loop', {'X': [2_000]})"]


TENFOLD = """(() => {
    const { widgets } = jupyterapp.shell.currentWidget.content;
    const cell = widgets[2].model.sharedModel;
    cell.setSource(cell.source.replace("np.full(3, k,", "np.full(3, 10 * k,"));
})()"""


@pytest.fixture(
    scope="module",
    params=["module_lab", pytest.param("module_notebook7", marks=pytest.mark.slow)],
)
def notebook(request):
    """A notebook with a run that ended before it could be shown live."""
    lab = request.getfixturevalue(request.param)
    # A file of its own: two pages with the same notebook would share its kernel.
    lab.write(name_in(lab), *CELLS)
    lab.open(name_in(lab))
    for cell in range(4):
        lab.run_cell(cell)
    return lab


def name_in(lab: Lab) -> str:
    """Return the notebook's name in a host."""
    return f"connection_{type(lab).__name__.lower()}.ipynb"


def last_call(lab: Lab) -> View:
    """Unfold the loop and select its last call."""
    view = View(lab.cell(SHORT))
    view.row("double").first.click()
    view.tree.press("ArrowRight")
    view.tree.press("End")
    return view


def shows(view: View, x: int) -> None:
    """The selected call was sent a number three times, and doubled it."""
    y = view.inspector.get_by_role("group", name="Y, 1")
    expect(y).to_have_text(re.compile(rf"^({2 * x}(\.0)?){{3}}$"))


def test_a_run_too_short_for_the_live_view_opens_every_kept_tensor(notebook):
    """The document is connected to its kernel."""
    view = last_call(notebook)

    shows(view, 1999)


def test_after_a_reload_of_the_page_it_still_does(notebook):
    """The kernel lives, and the page finds its connection again."""
    notebook.save()
    notebook.open(name_in(notebook))
    view = last_call(notebook)

    shows(view, 1999)


def test_after_a_restart_of_the_kernel_it_says_what_helps(notebook):
    """The values are gone with the kernel; a run of the new one opens again."""
    last_call(notebook)
    notebook.restart_kernel()
    view = View(notebook.cell(SHORT))
    view.tree.press("ArrowUp")
    expect(view.inspector).to_contain_text("Run the cell again")
    # Else the numbers of the new kernel are those of the old one.
    notebook.command("notebook:clear-all-cell-outputs")
    for cell in range(4):
        notebook.run_cell(cell)

    shows(last_call(notebook), 1999)


def test_each_of_two_notebooks_in_a_page_has_the_values_of_its_kernel(module_lab):
    """Calls with the same ids, of runs with the same ids."""
    lab = module_lab
    for name in ("one.ipynb", "two.ipynb"):
        lab.write(name, *CELLS[:3], f"{CELLS[3]}\n# {name}")
    lab.open_beside("one.ipynb")
    for cell in range(4):
        lab.run_cell(cell)
    lab.open_beside("two.ipynb")
    for cell, source in enumerate(CELLS):
        if source == LOOP:
            lab.page.evaluate(TENFOLD)
        lab.run_cell(cell)
    shows(last_call(lab), 19_990)
    lab.open_beside("one.ipynb")
    shows(last_call(lab), 1999)
    lab.shut_down_kernel()
    lab.open_beside("two.ipynb")
    view = View(lab.cell(SHORT))
    view.tree.press("ArrowUp")
    shows(view, 19_980)
