"""Specification of the flame graph in a real page: themes, keys, accessibility."""

import dataclasses

import pytest
from asserting import some
from playwright.sync_api import expect
from views import samples

from blsnb.trace.profiles.samples import Sampled, SampleProfile, StackFrame
from blsnb.views.documents import document

from .axe import violations
from .view import View

pytestmark = pytest.mark.browser

EXECUTE = StackFrame("TritonPythonModel.execute", "model.py", 7, True)
HELPER = StackFrame("helper", "model.py", 12, True)
LIBRARY = StackFrame("dumps", "json.py", 9)


@pytest.fixture
def trace():
    """A run of nine models, of which one was sampled."""
    rows = [
        Sampled(0, "invoice_pipeline", (EXECUTE,), 6),
        Sampled(0, "invoice_pipeline", (EXECUTE, HELPER), 9),
        Sampled(0, "invoice_pipeline", (EXECUTE, HELPER, LIBRARY), 3),
    ]
    stored = SampleProfile(rows, 1_000_000, 1_000_000).stored()
    return dataclasses.replace(samples.invoice_run(), profiles=(stored,))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_flame_graph_is_read_with_keys_and_assistive_technology(
    page, axe, tmp_path, trace, theme
):
    """Boxes are items of a tree, with time and share; Enter zooms, Esc shows all."""
    page.emulate_media(color_scheme=theme)
    file = tmp_path / "run.html"
    file.write_text(document.page(trace), encoding="utf-8")
    page.goto(file.as_uri())
    view = View(page)
    flame = view.inspector.get_by_role("tree", name="Flame graph")
    item = flame.get_by_role("treeitem")

    expect(item.first).to_have_text("whole time")
    expect(view.inspector).to_contain_text("Inside the call18 samples, one every 1 ms")
    item.first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    helper = flame.get_by_role("treeitem", name="helper")
    expect(helper).to_be_focused()
    widths = [box.bounding_box()["width"] for box in some(item.all())]
    assert max(widths) == pytest.approx(helper.bounding_box()["width"], abs=1)
    page.keyboard.press("Escape")
    expect(flame.get_by_role("treeitem", name="→ text_detector")).to_be_visible()
    assert [] == violations(page, axe)
