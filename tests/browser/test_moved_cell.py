"""What a view shows after its cell was moved in JupyterLab, which draws it anew."""

import pytest
from playwright.sync_api import expect

from .view import View

pytestmark = pytest.mark.browser

STEP = """%%triton_model step --input X:FP32[-1] --output Y:FP32[-1]
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        x = requests[0].inputs()[0].as_numpy()
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", x + 1)])]
"""
INFER = """import blsnb
import numpy as np
run = blsnb.infer("step", {"X": np.arange(4, dtype=np.float32)})"""


@pytest.mark.parametrize("last", ["", "run.widget()"], ids=["document", "widget"])
def test_a_tensor_stays_open_where_its_cell_is_moved(lab, last):
    """The user's filter stays, too; the output Y was open at first."""
    infer = INFER if not last else f"{INFER.replace('})', '}, show=False)')}\n{last}"
    lab.write("moved.ipynb", "%load_ext blsnb", STEP, "# Above", infer, "# Below")
    lab.open("moved.ipynb")
    lab.run_all()
    view = View(lab.cell(3))
    view.tensor("X").click()
    view.filter.fill("step")

    lab.command("notebook:move-cell-up")

    moved = View(lab.cell(2))
    expect(moved.filter).to_have_value("step")
    expect(moved.tensor("X")).to_have_attribute("aria-expanded", "true")
    expect(moved.tensor("Y")).to_have_attribute("aria-expanded", "true")
