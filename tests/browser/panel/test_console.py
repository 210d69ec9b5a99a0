"""Specification of the panel beside a console."""

import pytest
from playwright.sync_api import expect

from ..test_identity import DOUBLE
from .panel import Panel, opened

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CONSOLE = "jupyterapp.shell.currentWidget"
IS_IDLE = f"{CONSOLE}?.console?.sessionContext.session?.kernel?.status === 'idle'"
PROMPT = f"{CONSOLE}.console.promptCell?.model.sharedModel.source"
RUN = f"{CONSOLE}.console.inject(given)"


def console_of(lab):
    """Open a console with a kernel of its own; return its panel."""
    preference = {"name": "python3"}
    lab.command("console:create", kernelPreference=preference, activate=True)
    lab.wait_for(IS_IDLE)
    return Panel(lab)


def test_the_panel_follows_a_console_and_types_into_its_prompt(lab):
    """A prompt takes one cell; the notebook behind it keeps its own."""
    opened(lab, "1 + 1")
    panel = console_of(lab)
    expect(panel.node).to_contain_text("This kernel has not loaded blsnb.")
    panel.node.get_by_role("button", name="Insert %load_ext blsnb").click()
    lab.wait_for(f"{PROMPT} === '%load_ext blsnb'")
    expect(panel.status).to_have_text("The code is at the console's prompt.")

    lab.command("console:run-forced")
    expect(panel.node).to_contain_text("There are no models yet")
    lab.settle(RUN, DOUBLE)
    expect(panel.row("double").locator(".state")).to_have_text("ready")
    panel.act("double", "Edit")
    lab.wait_for(f"{PROMPT}.startsWith('%%triton_config double')")
    expect(panel.status).to_have_text(
        "The first cell is at the console's prompt; a notebook takes all of them."
    )
    panel.act("double", "Open")
    expect(panel.status).to_contain_text("A console has no cells to open")
    panel.act("double", "Stats")
    typed = lab.page.locator(".jp-CodeConsole-content")
    expect(typed).to_contain_text("%triton stats double")
    lab.page.get_by_role("tab", name="panel.ipynb").click()
    expect(panel.node).to_contain_text("This kernel has not loaded blsnb.")
    assert 1 == lab.cell_count


def test_the_panel_follows_the_console_of_a_page_of_notebook_7(notebook7):
    """The page asks for a kernel; what is inserted goes to the prompt."""
    page = notebook7.page
    page.goto(notebook7.server.console_address("panel"))
    page.locator(".jp-Dialog .jp-mod-accept").click()
    page.wait_for_function(IS_IDLE)
    panel = Panel(notebook7)
    panel.node.get_by_role("button", name="Insert %load_ext blsnb").click()
    page.wait_for_function(f"{PROMPT} === '%load_ext blsnb'")
    notebook7.command("console:run-forced")
    expect(panel.node).to_contain_text("There are no models yet")
    notebook7.settle(RUN, DOUBLE)
    expect(panel.row("double").locator(".state")).to_have_text("ready")
    panel.act("double", "Stats")
    typed = page.locator(".jp-CodeConsole-content")
    expect(typed).to_contain_text("%triton stats double")
