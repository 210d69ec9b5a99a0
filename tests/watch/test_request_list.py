"""The live list in a notebook."""

from __future__ import annotations

import re
from collections.abc import Iterator

import ipywidgets
import pytest
import waiting
from spans import JSON, message, request

from blsnb.otlp.decoding import decode
from blsnb.views.live.request_list import MAX_ROWS
from blsnb.watch.store import SpanStore
from blsnb.watch.watch import Watch, receive


@pytest.fixture
def store() -> SpanStore:
    """The store of the watch."""
    return SpanStore()


@pytest.fixture
def watch(store: SpanStore) -> Iterator[Watch]:
    """A watch on a free port."""
    with receive(port=0, store=store) as found:
        yield found


def add(store: SpanStore, *numbers: int, **fields: str) -> None:
    for number in numbers:
        spans = decode(message(*request(number, **fields)), JSON).spans
        store.add(spans)


def shown(watch: Watch) -> list[str]:
    """Return the descriptions of the visible rows."""
    return [button.description for button in listed(watch)]


def listed(watch: Watch) -> list[ipywidgets.Button]:
    """Return the buttons of the visible rows, from top to bottom."""
    buttons = watch.widget()._buttons
    seen = [each for each in buttons if each.layout.display != "none"]
    return sorted(seen, key=lambda each: int(each.layout.order))


def test_new_requests_appear(watch, store):
    """The list refreshes itself."""
    assert [] == shown(watch)
    add(store, 1, name="first")
    assert waiting.until(lambda: len(shown(watch)) == 1)
    assert "first" in shown(watch)[0]


def test_filters_apply_at_once(watch, store):
    """By model, id and duration, and by order."""
    add(store, 1, name="a", request_id="x")
    add(store, 2, name="b", request_id="y")
    widget = watch.widget()
    widget._model.value = "b"
    assert ["b"] == [row.split()[1] for row in shown(watch)]
    widget._model.value, widget._request.value = "", "x"
    assert ["a"] == [row.split()[1] for row in shown(watch)]
    widget._request.value, widget._slower.value = "", 1.0
    assert [] == shown(watch)


def test_a_click_opens_the_view(watch, store):
    """The document of the request is below the list."""
    add(store, 1, name="first")
    widget = watch.widget()
    widget.refresh()
    widget._buttons[0].click()
    [output] = widget._output.outputs
    assert {"text/html", "text/plain"} <= output["data"].keys()
    assert "first" in output["data"]["text/plain"]


def test_a_click_opens_the_request_that_was_clicked(watch, store):
    """Others take the rows before the kernel receives the click."""
    add(store, 1, name="first")
    widget = watch.widget()
    widget.refresh()
    [button] = listed(watch)
    add(store, *range(2, 2 + MAX_ROWS), name="later")
    widget.refresh()
    assert button not in listed(watch)
    button.click()

    [output] = widget._output.outputs
    assert "first" in output["data"]["text/plain"]


def test_tab_reaches_the_rows_of_a_stopped_list_from_top_to_bottom(watch, store):
    """While it is live, a button stays with its request, wherever its row is."""
    add(store, 1)
    widget = watch.widget()
    widget.refresh()
    add(store, *range(2, 30))
    widget.refresh()
    add(store, 30)
    widget.refresh()
    assert [str(n) for n in range(MAX_ROWS)] == [b.layout.order for b in listed(watch)]
    widget._live.value = False

    assert widget._buttons[:MAX_ROWS] == listed(watch)


def test_a_stopped_list_stands_still(watch, store):
    """A row that is being read does not move away."""
    add(store, 1)
    widget = watch.widget()
    widget.refresh()
    widget._live.value = False
    add(store, 2)
    widget.refresh()
    assert 1 == len(shown(watch))
    widget._live.value = True
    assert 2 == len(shown(watch))


def test_rows_wait_while_a_reader_is_about_to_choose_one(watch, store):
    """At many requests per second a row would leave before it is clicked."""
    add(store, 1)
    widget = watch.widget()
    widget.refresh()
    widget._attention.attended = True
    add(store, 2)
    widget.refresh()
    assert 1 == len(shown(watch))
    assert widget._summary.value.startswith("2 requests")
    assert widget._summary.value.endswith("the focus is in the list.")
    widget._attention.attended = False
    assert 2 == len(shown(watch))
    assert "focus" not in widget._summary.value


def test_100_000_spans_are_a_list_of_twenty_rows(watch, store):
    """The summary counts the others."""
    add(store, *range(1, 500))
    widget = watch.widget()
    widget.refresh()
    assert MAX_ROWS == len(shown(watch))
    assert "499 requests" in widget._summary.value


def test_a_list_in_which_all_rows_change_keeps_its_height(watch, store):
    """A page may draw after each change: what is below the list must not move."""
    add(store, *range(1, 100))
    widget = watch.widget()
    widget.refresh()
    counts = []
    for button in widget._buttons:
        button.layout.observe(lambda _: counts.append(len(listed(watch))), "display")
    add(store, *range(100, 200))
    widget.refresh()

    assert {MAX_ROWS, MAX_ROWS + 1} == set(counts)


def test_a_saved_notebook_has_the_rows_as_text(watch, store):
    """Names of foreign senders are escaped."""
    add(store, 1, name="<b>x")
    data = watch.widget()._repr_mimebundle_()
    assert "<b>x" in data["text/plain"]
    assert "&lt;b&gt;x" in data["text/html"]
    assert "<b>" not in data["text/html"]


def test_a_saved_notebook_gets_the_text_again_when_it_changes(watch, store):
    """At once, and when the watch is closed."""
    widget = watch.widget()
    kept = []
    widget.on_keep(lambda: kept.append(widget.kept()["text/plain"]))
    add(store, 1, name="first")
    assert waiting.until(lambda: len(kept) == 1)
    assert "1 request" in kept[0]
    assert "As it was on" in kept[0]
    add(store, 2, name="second")
    watch.close()
    assert "2 requests" in kept[-1]


def test_the_text_hides_beside_the_list_in_a_page_with_a_kernel(watch):
    """Its script finds what the list has registered under its id."""
    widget = watch.widget()
    page = widget.placed()["text/html"]
    [list_id] = re.findall(r'"blsnb-placed"\)\]\?\.get\("(\w+)"', page)
    assert f'"blsnb-kept")]?.get("{list_id}")' in widget.kept()["text/html"]


def test_a_closed_watch_keeps_its_list(watch, store):
    """Its rows stay, and it refreshes no more."""
    add(store, 1)
    widget = watch.widget()
    watch.close()
    assert 1 == len(shown(watch))
    assert widget._live.disabled
    assert repr(watch).startswith("<Watch of ")
