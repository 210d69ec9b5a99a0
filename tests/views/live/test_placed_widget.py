"""A widget in the place of a text: its HTML, and the messages of its page."""

from __future__ import annotations

from pathlib import Path

import ipywidgets
import pytest
from reviewed import reviewed

from blsnb.views.live import placed_widget
from blsnb.views.live.placed_widget import PlacedWidget, opened, placed, placed_bundle
from blsnb.views.live.queries import VERSION

GOLDEN = Path(__file__).parent / "golden" / "placed.html"


def test_the_html_is_the_reviewed_one():
    """``BLSNB_WRITE_GOLDEN=1`` writes the file anew."""
    page = {"text/html": placed("a <b>page</b>", "view", "7f"), "text/plain": "page"}
    shown = opened(page)
    text = f"{page['text/html']}\n\n{shown['data']['text/html']}\n"

    assert reviewed(GOLDEN, text) == text
    assert ("display_data", {}, "page") == (
        shown["output_type"],
        shown["metadata"],
        shown["data"]["text/plain"],
    )
    assert {"text/plain": "page"} == opened({"text/plain": "page"})["data"]


def test_a_display_keeps_the_text_for_other_readers(monkeypatch):
    """Each widget has an id of its own in a page."""
    made = []
    document = PlacedWidget.document
    monkeypatch.setattr(
        PlacedWidget,
        "document",
        lambda self, page: made.append(self) or document(self, page),
    )
    still = {"text/html": "still", "text/plain": "words"}
    shown = [placed_bundle(ipywidgets.HTML(), still) for _ in range(2)]

    assert [
        {"text/html": placed("still", "placed", each.placed_id), "text/plain": "words"}
        for each in made
    ] == shown
    assert 2 == len({each.placed_id for each in made})


@pytest.fixture
def widget(monkeypatch):
    """A widget whose messages are noted instead of sent."""
    results = []
    found = PlacedWidget(ipywidgets.HTML(), results.append)
    monkeypatch.setattr(placed_widget, "welcome", lambda: "welcome")
    found.sent, found.results = [], results
    monkeypatch.setattr(found, "send", found.sent.append)
    yield found
    found.close()


@pytest.mark.parametrize(
    ("message", "sent", "results"),
    [
        ({"type": "hello", "v": VERSION}, ["welcome"], []),
        ({"type": "hello", "v": VERSION + 1}, [], []),
        ({"type": "hello"}, [], []),
        ({"type": "insert", "result": "copied"}, [], ["copied"]),
        ({"type": "insert", "result": 5}, [], []),
        ({"type": "other", "result": "copied"}, [], []),
        ("hello", [], []),
    ],
)
def test_a_page_is_greeted_and_reports_insertions(widget, message, sent, results):
    """Other messages are ignored."""
    widget._on_message(widget, message, [])

    assert (sent, results) == (widget.sent, widget.results)


def test_code_is_inserted_by_the_page(widget):
    """It answers with the result."""
    widget.insert("x = 1")

    assert [{"type": "insert", "code": "x = 1"}] == widget.sent
