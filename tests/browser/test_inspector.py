"""Specification of the inspector: texts keep their lines, and lists their order."""

import pytest
from playwright.sync_api import expect
from views import samples

from blsnb.trace.events import LogLine
from blsnb.views import document

from .view import View

pytestmark = pytest.mark.browser

LINES = "of another shape:\n  expected [3]\n  actual   [2]\nReshape it."


@pytest.fixture
def show(page, tmp_path):
    """Open a run as a file, the way a saved page is read."""

    def shown(script):
        file = tmp_path / "run.html"
        file.write_text(document.page(script.trace()), encoding="utf-8")
        page.goto(file.as_uri())
        view = View(page)
        view.rows.first.wait_for()
        return view

    return shown


@pytest.fixture
def script():
    """A run of a model that asks another one."""
    script = samples.Script()
    script.model("pipeline")
    script.model("reader")
    script.call(None, "pipeline", 0, 5, 5, 900, 5)
    script.call(script.calls[0], "reader", 100, 5, 5, 90, 5)
    return script


def test_notes_and_errors_keep_their_lines(show, script, page):
    """What is a table to its writer is a table to its reader."""
    script.calls[1].notes = [LINES]
    samples.fail(script.calls[1], LINES)
    view = show(script)
    view.row("reader").click()

    assert LINES == view.inspector.locator(".note").inner_text()
    assert LINES == view.inspector.get_by_role("note").locator(".code").inner_text()
    box = view.rows.nth(1).bounding_box()
    page.mouse.move(box["x"] + 290, box["y"] + 11)
    tip = view.element.get_by_role("tooltip")
    assert tip.inner_text().endswith(LINES)


def test_logged_errors_stand_in_line_with_other_lines(show, script):
    """A line has a time, a level and a text, each below that of the line before."""
    levels = ["PRINT", "INFO", "WARNING", "ERROR", "VERBOSE"]
    start = script.calls[0].request_start_ns
    script.calls[0].logs = [LogLine(start, level, "x = 3\ny = 4") for level in levels]
    view = show(script)

    lines = view.inspector.get_by_role("group", name="Log lines").locator("> div")
    places = {
        tuple(
            round(part.bounding_box()["x"], 1) for part in line.locator("> span").all()
        )
        for line in lines.all()
    }
    assert 1 == len(places)
    assert levels == [line.locator(".level").inner_text() for line in lines.all()]
    assert "x = 3\ny = 4" == lines.first.locator("> span").last.inner_text()
