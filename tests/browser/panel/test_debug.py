"""Specification of the panel's action that debugs a run."""

import pytest
from playwright.sync_api import expect

from ..axe import violations
from ..test_debugger import CELLS, Debugger
from .panel import opened

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    # A debugged process is slow to load models, on two busy cores.
    pytest.mark.timeout(180),
]
PATIENCE_MS = 60_000


def test_a_run_of_the_list_stops_in_the_debugger(lab, axe):
    """By the keyboard; the panel says where to continue, and how the run ended."""
    panel = opened(lab, *CELLS, run=4)
    panel.tab("Runs")
    debug = panel.unfold("parent").get_by_role("button", name="Debug")
    debug.focus()
    lab.page.keyboard.press("Enter")
    said = "switch on the notebook's"
    expect(panel.status).to_contain_text(said, timeout=PATIENCE_MS)

    debugger = Debugger(lab)
    debugger.switch_on()
    lab.command("blsnb:debug-run")
    debugger.expect_stop(2, 6, "execute (parent, In[3])")
    expect(panel.status).to_contain_text("continue there")
    assert [] == violations(lab.page, axe, ".blsnb-panel")
    lab.command("debugger:stepIn")
    lab.command("debugger:continue")
    recorded = "Call 0 has run again: its outputs are as recorded."
    expect(panel.status).to_have_text(recorded, timeout=PATIENCE_MS)
