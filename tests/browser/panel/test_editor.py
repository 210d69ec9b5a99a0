"""Specification of editors of configurations: colours and completion."""

import pytest
from playwright.sync_api import expect

from ..test_identity import DOUBLE
from .panel import opened

pytestmark = pytest.mark.browser

CONFIG = """name: "double"  # the folder
max_batch_size: 8
instance_group [ { kind: KIND_CPU } ]
"""
CELL = f"%%triton_config double\n{CONFIG}"
WORDS = """(selector) => [...document.querySelectorAll(selector + " .cm-line span")]
    .map((each) => each.textContent)"""
PYTHON = "for x in []:\n    pass"


def type_into(lab, editor, text):
    """Type at the end of an editor's text."""
    editor.locator(".cm-content").click()
    lab.page.keyboard.press("Control+End")
    lab.page.keyboard.type(text)


def test_a_config_file_is_highlighted_and_completed_without_a_kernel(lab):
    """Tab offers fields and enumerators of the place; a pointer shows a meaning."""
    opened(lab, DOUBLE)
    lab.put("config.pbtxt", CONFIG)
    lab.command("docmanager:open", path="config.pbtxt")
    editor = lab.page.locator(".jp-FileEditor")
    expect(editor.locator(".cm-line span").first).to_be_visible()
    words = lab.page.evaluate(WORDS, ".jp-FileEditor")
    assert ["name", ":", '"double"', "# the folder", "max_batch_size"] == words[:5]

    type_into(lab, editor, "instance_group { k")
    lab.page.keyboard.press("Tab")
    offered = lab.page.locator(".jp-Completer-match")
    expect(offered).to_have_text(["kind"])
    lab.page.keyboard.press("Enter")
    expect(editor.locator(".cm-line").last).to_have_text("instance_group { kind")
    type_into(lab, editor, ": KIND")
    lab.page.keyboard.press("Tab")
    expect(offered.first).to_have_text("KIND_AUTO")
    lab.page.keyboard.press("Escape")

    editor.get_by_text("max_batch_size").hover()
    expect(lab.page.locator(".cm-tooltip")).to_contain_text("Largest batch")
    lab.command("docmanager:save")


def test_a_config_cell_is_highlighted_while_it_is_one(lab):
    """Its magic makes it one, also while it is typed."""
    opened(lab, CELL, PYTHON)
    cell = lab.cell(0)
    expect(cell.locator(".cm-line span").first).to_have_text("%%triton_config double")
    words = cell.locator(".cm-line span").all_inner_texts()
    assert "instance_group" in words
    assert "KIND_CPU" in words
    assert "for" in lab.cell(1).locator(".cm-line span").all_inner_texts()

    source = "jupyterapp.shell.currentWidget.content.widgets[1].model.sharedModel"
    lab.page.evaluate(f"{source}.setSource({CELL!r})")
    expect(lab.cell(1).locator(".cm-line span").first).to_have_text(
        "%%triton_config double"
    )
    lab.page.evaluate(f"{source}.setSource({PYTHON!r})")
    expect(lab.cell(1).locator(".cm-line span").first).to_have_text("for")
