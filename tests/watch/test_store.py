"""Received spans within limits."""

from __future__ import annotations

from spans import GOLDEN, JSON, NAMES, message, model_span, request, span

from blsnb.otlp import assembly
from blsnb.otlp.decoding import ReceivedSpan, decode
from blsnb.watch.store import SpanStore, StoreCounts


def received(*spans: dict) -> list[ReceivedSpan]:
    return decode(message(*spans), JSON).spans


def models(store: SpanStore) -> list[str]:
    return [each.model for each in store.outlines()]


def test_requests_of_a_real_server_are_listed():
    """Each has its model, its id, its calls and its duration."""
    store = SpanStore()
    with GOLDEN.open("rb") as file:
        for line in file:
            store.add(decode(line, JSON).spans)

    found = store.outlines()
    assert NAMES == tuple(each.model for each in found)
    assert ["r1", "bad", "e1", "d1"] == [e.request_id for e in found if e.request_id]
    assert [3, 1, 1, 1, 1, 1, 5, 1] == [each.calls for each in found]
    assert [183300694, 1779439] == [each.duration_ns for each in found[:2]]
    assert {(0, True)} == {(each.errors, each.is_complete) for each in found}


def test_spans_of_one_request_may_arrive_in_any_pieces():
    """The request is incomplete until its topmost span arrives."""
    store = SpanStore()
    child, root = request(1)
    store.add(received(child))
    assert [False] == [each.is_complete for each in store.outlines()]
    store.add(received(root))
    assert [(True, 1)] == [(e.is_complete, e.calls) for e in store.outlines()]
    [outline] = store.outlines()
    assert ["m"] == [model.name for model in store.trace(outline.run_id).models]


def test_a_span_that_arrives_twice_is_kept_once():
    """Senders repeat a message whose answer was lost."""
    store = SpanStore()
    store.add(received(*request(1)))
    store.add(received(*request(1)))
    assert (4, 2) == (store.counts.received, store.counts.kept)


def test_the_oldest_requests_are_dropped_and_counted():
    """The number of spans stays within its limit."""
    store = SpanStore(max_spans=6)
    for number in range(1, 6):
        store.add(received(*request(number, name=f"m{number}")))

    assert ["m3", "m4", "m5"] == models(store)
    assert StoreCounts(received=10, kept=6, dropped=4) == store.counts
    assert "10 spans received, the oldest 4 dropped" == str(store.counts)
    assert "1 span received" == str(StoreCounts(received=1))
    [first, *_] = store.outlines()
    assert store.trace(first.run_id) is not None
    assert store.trace("0" * 31 + "1-" + "0" * 15 + "b") is None


def test_memory_is_limited_too():
    """Large spans drop more of the others."""
    store = SpanStore(max_bytes=20_000)
    for number in range(1, 40):
        store.add(received(*request(number, name="m" * 900)))
    assert 0 < store.counts.kept < 20
    assert 78 == store.counts.kept + store.counts.dropped


def test_spans_that_just_fit_are_kept():
    """One byte less drops the oldest request."""
    spans = [each for number in (1, 2) for each in received(*request(number))]
    size = sum(each.size for each in spans)
    fits, exceeds = SpanStore(max_bytes=size), SpanStore(max_bytes=size - 1)
    fits.add(spans)
    exceeds.add(spans)

    assert (4, 2) == (fits.counts.kept, exceeds.counts.kept)


def test_one_endless_trace_is_limited():
    """A client that uses one trace for all its requests loses the oldest spans."""
    store = SpanStore(max_spans=10)
    for number in range(1, 31):
        store.add(received(model_span(1, number)))
    assert (10, 20) == (store.counts.kept, store.counts.dropped)
    assert 10 == len(store.outlines())


def test_a_trace_of_several_requests_is_several_runs():
    """A client that passes its own context on makes them all in one trace."""
    store = SpanStore()
    store.add(received(model_span(1, 2, 1, name="a"), span(1, 1, 99)))
    store.add(received(model_span(1, 4, 3, name="b"), span(1, 3, 99)))
    assert ["a", "b"] == models(store)
    titles = [store.trace(each.run_id).title for each in store.outlines()]
    assert ["a", "b"] == titles


def test_a_huge_request_is_shown_in_part(monkeypatch):
    """The view says how many spans there are."""
    monkeypatch.setattr(assembly, "_MAX_CALLS", 3)
    store = SpanStore()
    store.add(received(*[model_span(1, n, n - 1) for n in range(1, 6)]))
    [outline] = store.outlines()
    trace = store.trace(outline.run_id)
    assert 3 == len(trace.spans)
    assert "The first 3 calls of 5 spans are shown." == trace.remarks[-1]


def test_spans_that_are_their_own_ancestors_are_cut():
    """The view says so; nothing loops."""
    store = SpanStore()
    store.add(received(model_span(1, 2, 3), model_span(1, 3, 2)))
    [outline] = store.outlines()
    trace = store.trace(outline.run_id)
    assert 2 == len(trace.spans)
    assert "its own ancestor" in trace.spans[0].notes[0]
