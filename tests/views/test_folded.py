"""Calls that are only counted are in every sum, and a line says which."""

from __future__ import annotations

import time

import pytest

from blsnb.trace.folding import FoldedCounts, fold
from blsnb.trace.spans import Trace, trace_of
from blsnb.views import document, trace_view, wire
from blsnb.views.callgraph import CallGraph, call_graph
from blsnb.views.columns import columns_of
from blsnb.views.folded import folded_note
from blsnb.views.snapshot import summary
from blsnb.views.tree import tree

from .samples import Script

LINE = (
    "folded from 1,001 calls: 101 are kept one by one (the first, the last, failed "
    "and slowest ones), the others are counted: outer → inner "
    "\N{MULTIPLICATION SIGN}900 in 13.5 ms"
)


def the_loop() -> Script:
    """A thousand calls of 15 µs, each third microsecond of its caller apart."""
    script = Script()
    script.model("outer")
    script.model("inner")
    outer = script.call(None, "outer", 0, 0, 0, 20_000, 0)
    for number in range(1000):
        script.call(outer, "inner", 10 + 18 * number, 0, 0, 10, 0)
    for call in script.calls:
        call.ended = True
    return script


def folded(script: Script, room: int) -> Trace:
    counts = FoldedCounts()
    counts.add(fold(script.calls, room))
    return trace_of("run", script.calls, 1, folded=counts.listed())


def graph(trace: Trace) -> CallGraph:
    return call_graph(trace, columns_of(trace))


def test_the_call_graph_of_a_folded_run_is_that_of_the_whole():
    """Counts are the same, and own times, where calls followed one another."""
    whole = graph(the_loop().trace())
    less = graph(folded(the_loop(), 100))

    assert [(b.name, b.calls) for b in whole.boxes] == [
        (b.name, b.calls) for b in less.boxes
    ]
    for box, same in zip(whole.boxes, less.boxes, strict=True):
        assert box.own_us == pytest.approx(same.own_us, abs=0.01)
        assert box.phases_us == pytest.approx(same.phases_us, rel=0.5)
    assert whole.edges == less.edges


def test_title_and_text_count_all_calls():
    """The text ends with a line on what is not shown one by one."""
    trace = folded(the_loop(), 100)

    assert "1,001 calls" in summary(trace, columns_of(trace))
    assert [LINE] == folded_note(trace)
    assert tree(trace).endswith(f"\n  … {LINE}")


def test_the_document_says_what_was_folded():
    """Below the table for those without scripts, and as a note of the first call."""
    trace = folded(the_loop(), 100)

    header, _ = wire.encode(trace)
    assert LINE in document.html(trace)
    assert (1001, 0) == (header["run"]["calls"], header["run"]["errors"])
    assert [[0, 1, 900, 0, 13_500.0]] == header["run"]["folded"]
    assert "folded" not in wire.encode(the_loop().trace())[0]["run"]
    assert [] == folded_note(the_loop().trace())


def test_a_live_view_is_sent_whole_when_calls_were_folded():
    """Rows are numbered anew, so none of the old ones may stay."""
    script = the_loop()
    traces = [script.trace(), script.trace(), folded(script, 100)]
    view = trace_view.TraceView(lambda: traces[0])
    sent = []
    view.send = lambda content, buffers=(): sent.append(content)
    now = time.monotonic_ns()
    for at in range(3):
        view.tick(now + at * 10**9)
        del traces[:1]
        traces.append(traces[-1])

    assert ["snapshot", "rows", "snapshot"] == [m["type"] for m in sent]
    assert 101 == sent[-1]["header"]["n"]
    view.close()
