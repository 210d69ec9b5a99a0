"""Specification of the panel's commands, and of the launcher's notebook."""

import re

import pytest
from playwright.sync_api import expect

from ..lab import IDLE
from ..test_identity import DOUBLE
from .panel import opened

pytestmark = pytest.mark.browser

START = "%load_ext blsnb\nimport blsnb"
FIRST_LINES = """() => jupyterapp.shell.currentWidget.content.widgets
    .map((each) => each.model.sharedModel.source.split("\\n")[0])"""

HAS_FIRST_MODEL = (
    "jupyterapp.shell.currentWidget.content.widgets[0]"
    ".model.sharedModel.source.startsWith('# A first model')"
)


def test_the_launcher_opens_a_notebook_with_a_first_model_that_runs(lab):
    """All of its cells run as they are."""
    opened(lab, "1 + 1")
    lab.command("launcher:create")
    lab.page.locator(".jp-LauncherCard:visible").get_by_text("Triton Model").click()
    lab.wait_for(f"({IDLE}) && {HAS_FIRST_MODEL}")
    lab.run_all()

    expect(lab.cell(3).locator(".jp-OutputArea-output").last).to_contain_text(
        "array([2., 4., 6.]"
    )
    lab.save()


@pytest.mark.slow
def test_the_palette_has_the_panels_commands(lab):
    """They are about the notebook in front."""
    panel = opened(lab, "1 + 1")
    lab.command("apputils:activate-command-palette")
    palette = lab.page.locator(".lm-CommandPalette")
    palette.locator("input").fill("triton load_ext")
    palette.get_by_text("Insert %load_ext blsnb").click()
    assert "%load_ext blsnb" == lab.page.evaluate(FIRST_LINES)[1]
    lab.command("blsnb:save-run")
    expect(panel.status).to_have_text("This kernel has not loaded blsnb.")
    lab.run_cell(1)
    expect(panel.node.get_by_text("There are no models yet")).to_be_visible()
    lab.command("blsnb:save-run")
    expect(panel.status).to_contain_text("this kernel has no server")


def test_the_graph_opens_the_cell_of_a_model(lab):
    """A command shows it; it follows new models, and lists what will fail."""
    panel = opened(lab, START, DOUBLE, run=1)
    lab.command("blsnb:show-graph")
    expect(panel.node).to_contain_text("this kernel has no server")
    lab.run_cell(1)
    panel.node.get_by_role("button", name="Open double").click()
    lab.wait_for("jupyterapp.shell.currentWidget.content.activeCellIndex === 1")
    expect(panel.node.get_by_role("img")).to_be_visible()


@pytest.mark.slow
def test_the_graph_has_the_colours_of_the_theme(lab):
    """In a cell and in the panel, and it changes with the theme."""
    panel = opened(lab, START, DOUBLE, "%triton graph", run=3)
    lab.command("blsnb:show-graph")
    card = lab.cell(2).locator(".blsnb-picture rect").nth(1)
    fills = {"Dark": "rgb(29, 33, 39)", "Light": "rgb(255, 255, 255)"}
    for theme, fill in fills.items():
        lab.theme(theme)
        expect(card).to_have_css("fill", fill)
        source = re.compile(f"data-theme%3D%22{theme.lower()}%22")
        expect(panel.node.get_by_role("img")).to_have_attribute("src", source)
