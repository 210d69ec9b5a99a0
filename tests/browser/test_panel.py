"""Specification of the panel beside a notebook, in JupyterLab and Notebook 7."""

import re

import pytest
from playwright.sync_api import expect

from .conftest import lab_of, page_of
from .lab import Lab
from .lab_server import LabServer
from .notebook7 import Notebook7
from .panel import Panel
from .test_identity import DOUBLE

pytestmark = pytest.mark.browser

START = "%load_ext blsnb\nimport blsnb"
UNLOAD_LATER = """import threading, time
told = []
def unload():
    time.sleep(0.5)
    blsnb.server().unload("double")
    told.append(time.time())
threading.Thread(target=unload).start()
time.sleep(4)"""
LATE = "print(told[0])"
BROKEN = """try:
    blsnb.server().define("double", "def:")
except blsnb.ModelLoadError:
    pass"""


@pytest.fixture(scope="module")
def panel_server(tmp_path_factory):
    """A server of both hosts with the panel installed."""
    with LabServer(tmp_path_factory.mktemp("panel"), panel=True) as server:
        yield server


@pytest.fixture(params=[Lab, Notebook7])
def notebook(request, browser, panel_server):
    """A notebook in each host."""
    with (
        page_of(browser) as page,
        lab_of(page, panel_server, request.param) as lab,
    ):
        yield lab


def opened(lab, *cells):
    lab.write("panel.ipynb", *cells)
    lab.open("panel.ipynb")
    return Panel(lab)


def test_a_kernel_without_blsnb_gets_a_sentence_and_a_button_that_inserts_what_loads_it(
    notebook,
):
    """The button inserts the cell; running it brings the models, a restart ends it."""
    panel = opened(notebook, "1 + 1", DOUBLE)
    notebook.run_cell(0)
    expect(panel.node).to_contain_text("This kernel has not loaded blsnb.")

    panel.node.get_by_role("button", name="Insert %load_ext blsnb").click()
    expect(notebook.cell(1)).to_contain_text("%load_ext blsnb")
    notebook.run_cell(1)
    expect(panel.node).to_contain_text("There are no models yet")
    notebook.run_cell(2)
    expect(panel.row("double").locator(".state")).to_have_text("ready")

    notebook.restart_kernel()
    expect(panel.node).to_contain_text("This kernel has not loaded blsnb.")


def test_a_change_is_visible_in_300_ms_while_a_cell_runs(notebook):
    """A thread unloads the model; the cell occupies the kernel's main thread."""
    panel = opened(notebook, START, DOUBLE, UNLOAD_LATER, LATE)
    for cell in range(2):
        notebook.run_cell(cell)
    expect(panel.row("double").locator(".state")).to_have_text("ready")
    notebook.page.evaluate("jupyterapp.shell.currentWidget.content.activeCellIndex = 2")
    notebook.page.evaluate("void jupyterapp.commands.execute('notebook:run-cell')")
    shown = panel.time_of("double", "unloaded")
    notebook.run_cell(3)

    unloaded = float(notebook.cell(3).locator(".jp-OutputArea-output").inner_text())
    assert shown - unloaded < 1.0


def test_models_are_loaded_unloaded_and_edited_from_the_panel(notebook):
    """An answer is one sentence; cells are inserted below the active one."""
    panel = opened(notebook, START, DOUBLE)
    for cell in range(2):
        notebook.run_cell(cell)

    panel.act("double", "Unload")
    expect(panel.status).to_have_text("double is unloaded.")
    expect(panel.row("double").locator(".state")).to_have_text("unloaded")
    panel.act("double", "Load")
    expect(panel.status).to_have_text(re.compile(r"double is loaded in \d+ ms\."))
    panel.act("double", "Edit")
    expect(panel.status).to_have_text(re.compile("inserted"))
    sources = notebook.page.evaluate(
        "jupyterapp.shell.currentWidget.content.widgets"
        ".map((each) => each.model.sharedModel.source.split('\\n')[0])"
    )
    assert ["%%triton_config double", "%%triton_model double"] == sources[2:]


def test_a_failed_definition_makes_the_model_stale_with_the_reason(notebook):
    """The version that served before is shown as stale; Open leads to its cell."""
    panel = opened(notebook, START, DOUBLE, BROKEN)
    for cell in range(3):
        notebook.run_cell(cell)

    expect(panel.row("double").locator(".state")).to_have_text("stale")
    expect(panel.row("double")).to_contain_text("SyntaxError")
    panel.act("double", "Open")
    notebook.page.wait_for_function(
        "jupyterapp.shell.currentWidget.content.activeCellIndex === 1"
    )


def test_the_panel_follows_the_notebook_in_front(browser, panel_server):
    """Each of two notebooks has a kernel of its own."""
    with page_of(browser) as page, lab_of(page, panel_server, Lab) as lab:
        lab.write("one.ipynb", START, DOUBLE)
        lab.write("two.ipynb", "1 + 1")
        lab.open("one.ipynb")
        panel = Panel(lab)
        for cell in range(2):
            lab.run_cell(cell)
        expect(panel.row("double")).to_be_visible()

        lab.open_beside("two.ipynb")
        expect(panel.node).to_contain_text("This kernel has not loaded blsnb.")
        lab.open_beside("one.ipynb")
        expect(panel.row("double")).to_be_visible()
