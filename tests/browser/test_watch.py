"""The live list of a real server's requests in JupyterLab."""

from __future__ import annotations

from pathlib import Path

import pytest
from magics.models import DOUBLE
from playwright.sync_api import expect
from spans import GOLDEN

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LOAD = "%load_ext blsnb"
WATCH = "watch = %triton watch --port 0"
SHOW = "watch"
SEND = f"""import urllib.request
from pathlib import Path
headers = {{"Content-Type": "application/json"}}
for line in Path({str(GOLDEN)!r}).read_bytes().splitlines():
    request = urllib.request.Request(watch.receiver.url(), line, headers)
    urllib.request.urlopen(request).close()"""


def test_requests_appear_and_a_click_opens_one(lab, tmp_path: Path):
    """The row of an ensemble opens its view, with its five calls."""
    lab.write("watch.ipynb", LOAD, WATCH, SHOW, SEND)
    lab.open("watch.ipynb")
    lab.run_all()
    rows = lab.cell(2).locator(".blsnb-requests button:visible")
    expect(rows).to_have_count(8)
    expect(lab.cell(2)).to_contain_text("8 requests")
    rows.filter(has_text="ens").click()
    view = lab.cell(2).locator(".widget-output")
    expect(view.get_by_text("5 calls").first).to_be_visible()
    for theme in ("Light", "Dark"):
        lab.theme(theme)
        lab.cell(2).screenshot(path=tmp_path / f"{theme}.png")
    lab.cell(2).get_by_placeholder("model").fill("fail")
    expect(rows).to_have_count(1)


def test_rows_wait_while_the_pointer_or_the_focus_is_in_the_list(lab):
    """New requests would move a row away before it is clicked."""
    lab.write("waits.ipynb", LOAD, WATCH, SHOW, SEND)
    lab.open("waits.ipynb")
    lab.run_all()
    cell, waits = lab.cell(2), "The rows wait while the pointer or the focus"
    rows = cell.locator(".blsnb-requests button:visible")
    rows.first.hover()
    expect(cell).to_contain_text(waits)
    lab.page.mouse.move(1, 1)
    expect(cell).not_to_contain_text(waits)
    rows.first.focus()
    lab.page.keyboard.press("Tab")
    expect(cell).to_contain_text(waits)
    lab.page.keyboard.press("Enter")
    expect(cell).not_to_contain_text(waits)
    expect(cell.locator(".widget-output")).to_contain_text("calls")


LOST = "The kernel is gone: what is below is no longer live."
KEPT = """() => jupyterapp.shell.currentWidget.content.widgets[2].model.outputs.toJSON()
    .some((output) => output.data["text/plain"].includes("8 requests"))"""
LOSSES = {
    "restarted": lambda lab: lab.restart_kernel(),
    "shut down": lambda lab: lab.shut_down_kernel(),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_list_whose_kernel_is_gone_says_so(lab, loss):
    """So does a form; what the notebook keeps is what was last known."""
    lab.write("lost.ipynb", LOAD, WATCH, SHOW, SEND, DOUBLE, "%triton try double")
    lab.open("lost.ipynb")
    lab.run_all()
    expect(lab.cell(2).locator(".blsnb-requests button:visible")).to_have_count(8)
    expect(lab.cell(2)).not_to_contain_text("As it was on", use_inner_text=True)
    lab.wait_for(KEPT)
    LOSSES[loss](lab)
    for cell in (2, 5):
        expect(lab.cell(cell)).to_contain_text(LOST)
    lab.save()
    lab.shut_down_kernel()
    lab.open_without_kernel("lost.ipynb")

    expect(lab.cell(2)).to_contain_text("8 requests")
    expect(lab.cell(2)).to_contain_text("As it was on", use_inner_text=True)
