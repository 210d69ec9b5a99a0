"""The rows of an evaluation in JupyterLab."""

import pytest
from magics.models import DOUBLE
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LOAD = "%load_ext blsnb"
EVALUATE = """import numpy as np

blsnb.evaluate("double", [{"X": np.full(2, n, np.float32)} for n in range(40)])"""


def test_the_view_of_an_opened_row_is_scrolled_to(lab):
    """It is below a list of up to twenty rows."""
    lab.write("evaluation.ipynb", f"{LOAD}\nimport blsnb", DOUBLE, EVALUATE)
    lab.open("evaluation.ipynb")
    lab.run_all()
    rows = lab.cell(2).locator(".blsnb-evaluation-rows button:visible")
    lab.page.set_viewport_size({"width": 1200, "height": 700})
    rows.first.scroll_into_view_if_needed()
    rows.first.click()
    view = lab.cell(2).locator(".widget-output .blsnb-run")

    expect(view).to_be_in_viewport(ratio=0.4)
