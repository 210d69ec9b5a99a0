"""The widget of a server: the messages that it sends and receives."""

import pytest

from blsnb.views.live.monitor_view import MonitorView
from blsnb.views.live.overview import ModelRow, Overview


def overview(looks=1, **changed):
    """A server with one model."""
    return Overview(2, 3.5, (ModelRow("double", 1, "READY"),), (), looks, **changed)


@pytest.fixture
def heard():
    return []


@pytest.fixture
def view(heard):
    view = MonitorView(
        overview(), lambda: heard.append("watched"), lambda: heard.append("closed")
    )
    yield view
    view.close()


def test_the_overview_is_one_trait(view):
    """A page that opens late receives it with the widget."""
    assert "overview" in view.keys
    assert ("double", 3.5) == (
        view.overview["rows"][0]["name"],
        view.overview["per_second"],
    )


def test_each_new_overview_is_one_message(view):
    """An equal overview is not sent again."""
    sent = []
    view.observe(lambda change: sent.append(change["new"]["looks"]), "overview")
    view.show(overview(2))
    view.show(overview(2))
    view.show(overview(3, ended=True))

    assert [2, 3] == sent


def test_a_page_reports_that_it_is_watched(view, heard):
    """Other messages are ignored."""
    for said in ({"type": "watching"}, {"type": "eval"}, None, "watching", ["x"]):
        view._handle_custom_msg(said, [])

    assert ["watched"] == heard


def test_closing_is_reported(view, heard):
    """The owner stops reading the server."""
    view.close()

    assert ["closed"] == heard


def test_readers_without_a_kernel_or_scripts_see_a_table(view):
    """It is in the same output."""
    view.show(overview(4))
    data, _ = view._repr_mimebundle_()

    assert "<table>" in data["text/html"]
    assert data["text/plain"].startswith("2 in flight, 3.5 requests/s")
    assert "application/vnd.jupyter.widget-view+json" in data


def test_a_saved_table_has_the_time_of_its_numbers(view):
    """A later reader does not take them for current ones."""
    shown = view.document()

    assert "<p>As it was on 20" in shown["text/html"]
    assert "\nAs it was on 20" in shown["text/plain"]
