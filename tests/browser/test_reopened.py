"""Lists and views in a saved notebook that is opened without their kernel."""

from __future__ import annotations

import pytest
from magics.models import DOUBLE
from playwright.sync_api import expect

from .lab import IDLE
from .view import View

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LOAD = "%load_ext blsnb\nimport blsnb"
EVALUATE = "blsnb.evaluate('double', [{'X': [1.0]}] * 5)"
WATCH = "watch = %triton watch --port 0"


def test_evaluations_and_requests_are_shown_as_they_were(lab):
    """While there is a kernel, a click on a row opens its run."""
    lab.write("lists.ipynb", LOAD, DOUBLE, EVALUATE, WATCH, "watch")
    lab.open("lists.ipynb")
    lab.run_all()
    row = lab.cell(2).locator(".blsnb-evaluation-rows button:visible").first
    row.click()
    expect(lab.cell(2).locator(".widget-output")).to_contain_text("1 call")
    expect(lab.cell(4).get_by_placeholder("request id")).to_be_visible()
    lab.save()
    lab.shut_down_kernel()
    lab.open_without_kernel("lists.ipynb")

    expect(lab.cell(2)).to_contain_text("Evaluation of double 5 rows")
    expect(lab.cell(2).locator("summary")).to_contain_text("slowest")
    expect(lab.cell(4)).to_contain_text("As it was on")
    for index in (2, 4):
        expect(lab.cell(index)).not_to_contain_text("Loading widget")


def test_the_view_of_a_run_is_its_picture(lab):
    """While there is a kernel, also after a reload of the page, it is the view."""
    run = "run = blsnb.infer('double', {'X': [1.0]})"
    lab.write("view.ipynb", LOAD, DOUBLE, run, "run.widget()")
    lab.open("view.ipynb")
    lab.run_all()
    expect(View(lab.cell(3)).row("double")).to_be_visible()
    lab.save()
    lab.page.goto(lab.server.address("view.ipynb"))
    lab.wait_for(IDLE)
    expect(View(lab.cell(3)).row("double")).to_be_visible()
    lab.shut_down_kernel()
    lab.open_without_kernel("view.ipynb")

    expect(lab.cell(3).get_by_role("img", name="double")).to_be_visible()
    expect(lab.cell(3)).not_to_contain_text("Loading widget")
