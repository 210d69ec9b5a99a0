"""The live list in a notebook."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import ipywidgets
import pytest
import waiting
from reviewed import reviewed
from spans import JSON, message, model_span, request
from widget_tree import widget_tree

from blsnb.errors import TraceError
from blsnb.otlp.decoding import decode
from blsnb.views.live.request_list import MAX_ROWS, SLOWEST
from blsnb.watch import watch as module
from blsnb.watch.receiver import Receiver
from blsnb.watch.store import SpanStore
from blsnb.watch.watch import Watch, server_flags


@pytest.fixture
def store() -> SpanStore:
    """The store of the watch."""
    return SpanStore()


@pytest.fixture
def watch(store: SpanStore) -> Iterator[Watch]:
    """A watch on a free port."""
    with Watch(Receiver(store, port=0), store) as found:
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


def test_a_request_is_found_by_its_id(watch, store):
    """The newest one, or the one with a run's id."""
    add(store, 1, name="old", request_id="same")
    add(store, 2, name="new", request_id="same")

    newest, oldest = watch.requests
    assert [newest.run_id, newest.run_id, oldest.run_id] == [
        watch.run(each).trace.run_id for each in ("same", newest.run_id, oldest.run_id)
    ]
    assert ["new", "old"] == [run.model_name for run in watch.runs]
    with pytest.raises(TraceError) as refused:
        watch.run("other")
    assert (
        "no request with id 'other' was received, or it is no longer kept (4 spans "
        "received)"
    ) == str(refused.value)


def test_rows_can_be_in_the_order_of_their_durations(watch, store):
    """A row of a request that was dropped says so."""
    add(store, 1, name="slow")
    store.add(
        decode(
            message(model_span(2, 30, name="quick") | {"endTimeUnixNano": "31"}), JSON
        ).spans
    )
    orders = {
        by_time: [line.split()[1] for _, line in watch._rows("", "", 0.0, by_time)[2]]
        for by_time in (False, True)
    }

    assert {False: ["quick", "slow"], True: ["slow", "quick"]} == orders
    summary, head, _ = watch._rows("", "", 0.0, False)
    text = "2 requests, 0 requests/s, slowest 10 ns (slow). 3 spans received."
    assert (text, "at") == (summary, head.split()[0])
    gone = watch._document("0-0")
    assert {"text/plain": "This request is no longer kept."} == gone


def test_a_server_sends_its_spans_with_these_arguments():
    """A batch is sent after half a second."""
    settings = (
        "mode=opentelemetry",
        "rate=1",
        "level=TIMESTAMPS",
        "opentelemetry,url=http://a:1/v1/traces",
        "opentelemetry,bsp_schedule_delay=500",
    )

    assert [f"--trace-config={each}" for each in settings] == (
        server_flags("http://a:1/v1/traces")
    )


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
    """The document of the request is below the list, and the page scrolls to it."""
    add(store, 1, name="first")
    widget = watch.widget()
    widget.refresh()
    widget._buttons[0].click()
    [output] = widget._output.outputs
    assert "scrollIntoView" in output["data"]["text/html"]
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


def test_a_refresh_that_fails_is_logged_and_followed_by_the_next(
    watch, monkeypatch, caplog
):
    """The list stays live."""
    monkeypatch.setattr(module, "INTERVAL_S", 0.001)
    refreshed = []

    def fail():
        refreshed.append(True)
        raise RuntimeError("no widget")

    watch.on_change(fail)

    assert waiting.until(lambda: len(refreshed) > 1)
    assert "the list of requests could not be refreshed" in caplog.messages
    assert "RuntimeError: no widget" in caplog.text


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


def test_the_list_is_the_reviewed_one(watch, store):
    """``BLSNB_WRITE_GOLDEN=1`` writes the file anew."""
    add(store, 1, name="first", request_id="a")
    add(store, 2, name="second", request_id="b")
    widget = watch.widget()
    widget.refresh()
    widget._order.value = SLOWEST
    text = re.sub(r"\d\d:\d\d:\d\d\.", "hh:mm:ss.", widget_tree(widget))
    # Buttons for the rows that are not there are alike.
    text = re.sub(r"(.*display='none'.*\n)\1*", r"\1", text)

    assert reviewed(Path(__file__).parent / "golden" / "requests.txt", text) == text


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
