"""Specification of comparing and replaying in JupyterLab: before and after an edit."""

import re

import pytest
from playwright.sync_api import expect
from waiting import until

from .view import View

pytestmark = pytest.mark.browser

FLOW = "--input X:FP32[-1] --output Y:FP32[-1]"
SHARPEN = f"""%%triton_model sharpen {FLOW}
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        answers = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
            y = pb_utils.Tensor("Y", x * np.float32(2))
            answers.append(pb_utils.InferenceResponse([y]))
        return answers
"""
SCORE = f"""%%triton_model score {FLOW}
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        inputs = request.inputs()
        for _ in range(5):
            asked = pb_utils.InferenceRequest(
                model_name="sharpen", inputs=inputs, requested_output_names=["Y"]
            )
            outputs = asked.exec().output_tensors()
            inputs = [pb_utils.Tensor("X", outputs[0].as_numpy())]
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", inputs[0].as_numpy())])
"""
ASK = "import blsnb\n{} = blsnb.infer('score', {{'X': [1.0, 2.0, 3.0]}})"
EDITED = SHARPEN.replace("np.float32(2)", "np.float32(2.5)")
LONGER = SCORE.replace("range(5)", "range(6)")
CELLS = [
    "%load_ext blsnb",
    SHARPEN,
    SCORE,
    ASK.format("before"),
    EDITED,
    LONGER,
    f"{ASK.format('after')}\nafter.compare(before)",
    "before.replay(1)",
    "after.compare(before).widget()",
    "looked_at = before.widget()\nlooked_at",
    "looked_at.selected >= 0 and before.replay(looked_at.selected)",
    "before.plot()",
]
COMPARED, REPLAYED, CONNECTED, LOOKED_AT, AGAIN, DRAWN = 6, 7, 8, 9, 10, 11


@pytest.fixture(scope="module")
def ran(module_lab):
    """The notebook after Run All, still open."""
    module_lab.write("compared.ipynb", *CELLS)
    module_lab.open("compared.ipynb")
    module_lab.run_all()
    module_lab.save()
    return module_lab


@pytest.fixture
def notebook(ran):
    """The notebook, shown again if a test has opened another one."""
    ran.open_beside("compared.ipynb")
    return ran


def test_a_cell_compares_two_runs_and_shows_neither_again(notebook):
    """A call of the loop is new, and the others have other outputs."""
    view = View(notebook.cell(COMPARED))

    expect(view.element).to_have_count(1)
    toolbar = view.element.get_by_role("toolbar", name="Run")
    expect(toolbar).to_contain_text(re.compile(r"baseline6 changed1 new"))
    view.row("sharpen").first.click()
    expect(view.inspector).to_contain_text("1 of these calls are new.")


def test_a_replay_shows_both_responses(notebook):
    """The new response is that of the current model."""
    view = View(notebook.cell(REPLAYED))

    expect(view.element).to_have_count(1)
    expect(view.subject).to_have_text("sharpen")
    expect(view.inspector).to_contain_text(
        "3 of 3 differ; most by 1.5 at [2]: 7.5, was 6"
    )


def test_a_widget_of_a_comparison_queries_the_kernel(notebook):
    """Values that are in no document."""
    view = View(notebook.cell(CONNECTED))
    view.row("score").click()

    expect(view.inspector).to_contain_text("Compared with baseline")
    view.tensor("X").click()
    expect(view.inspector).to_contain_text(re.compile("max3"))


def test_what_is_selected_in_a_view_is_replayed(notebook):
    """A call of a loop, which has no other name there."""
    view = View(notebook.cell(LOOKED_AT))
    view.row("sharpen").click()
    view.tree.press("ArrowRight")
    view.tree.get_by_role("treeitem", name="sharpen call 2").click()
    expect(view.inspector.get_by_text("call 2", exact=True)).to_be_visible()
    expect(view.selected_rows).to_have_text("sharpencall 2")

    def is_replayed() -> bool:
        # A selection and a cell come to the kernel on channels of their own.
        notebook.run_cell(AGAIN)
        return "False" not in notebook.cell(AGAIN).inner_text()

    assert until(is_replayed)
    replayed = View(notebook.cell(AGAIN))

    expect(replayed.inspector).to_contain_text(
        "3 of 3 differ; most by 3 at [2]: 15, was 12"
    )


def test_a_figure_of_a_run_is_a_picture(notebook):
    """Not the line of text that matplotlib makes of it without pyplot."""
    picture = notebook.cell(DRAWN).locator(".jp-OutputArea-output img")

    expect(picture).to_have_attribute("src", re.compile("^data:image/png;base64,"))


def test_reopened_without_a_kernel_a_comparison_is_interactive(notebook, lab_server):
    """It is a document, like a run."""
    text = (lab_server.notebooks / "compared.ipynb").read_text(encoding="utf-8")
    notebook.put("again.ipynb", text)
    notebook.open_without_kernel("again.ipynb")
    view = View(notebook.cell(COMPARED))
    view.row("score").click()

    expect(view.inspector).to_contain_text("Compared with baseline")
    expect(view.inspector).to_contain_text("differ; most by")
