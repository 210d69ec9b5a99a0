"""Calls that are only counted are in every sum, and a line says which."""

from __future__ import annotations

import itertools
import re
import time
from dataclasses import replace

import pytest
from asserting import some

from blsnb.trace.capture import trace_of
from blsnb.trace.events import ModelInfo
from blsnb.trace.excerpt import page_excerpt, shortened
from blsnb.trace.folding import FoldedCalls, FoldedCounts, fold
from blsnb.trace.spans import Trace
from blsnb.views.callgraph import CallGraph, call_graph
from blsnb.views.documents import document
from blsnb.views.figures.figure import plot
from blsnb.views.folded import OnlyCounted, folded_note
from blsnb.views.format import TIMES
from blsnb.views.live import trace_view
from blsnb.views.pictures.snapshot import snapshot
from blsnb.views.summary import facts
from blsnb.views.tree import tree
from views.encoded import encode

from .samples import Script, batch_run, fail

LINE = (
    "folded from 1,001 calls: 101 shown one by one (the first, the last, failed "
    "and slowest ones), the others counted: outer → inner "
    "\N{MULTIPLICATION SIGN}900 in 13.5 ms"
)


def the_loop() -> Script:
    """Return a thousand calls of 15 µs by one caller."""
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
    return call_graph(trace)


def test_failed_calls_that_are_only_counted_are_errors_of_their_box():
    """Of a tenth of the kept calls at most errors are kept."""
    script = the_loop()
    for call in script.calls[1:]:
        fail(call, "no")
    whole, less = graph(trace_of("run", script.calls, 1)), graph(folded(script, 100))

    assert [box.errors for box in whole.boxes] == [box.errors for box in less.boxes]
    assert [edge.errors for edge in whole.edges] == [edge.errors for edge in less.edges]


def test_the_call_graph_of_a_folded_run_is_that_of_the_whole_run():
    """Counts are equal, and so are own times of calls that did not overlap."""
    whole = graph(the_loop().trace())
    less = graph(folded(the_loop(), 100))

    assert [(b.name, b.calls) for b in whole.boxes] == [
        (b.name, b.calls) for b in less.boxes
    ]
    for box, same in some(zip(whole.boxes, less.boxes, strict=True)):
        assert box.own_us == pytest.approx(same.own_us, abs=0.01)
        assert box.phases_us == pytest.approx(same.phases_us, rel=0.5)
    assert whole.edges == less.edges


def test_title_and_text_count_all_calls():
    """The text ends with a line on the calls that are only counted."""
    trace = folded(the_loop(), 100)

    assert "1,001 calls" in facts(trace)
    assert [LINE] == folded_note(trace)
    assert tree(trace).endswith(f"\n  … {LINE}")


@pytest.mark.parametrize(
    ("kinds", "more"), [(5, ""), (6, "; 1 further kind"), (7, "; 2 further kinds")]
)
def test_five_kinds_of_counted_calls_are_named(kinds, more):
    """Those with the most calls come first; client requests have no caller."""
    script = Script()
    models = [
        ModelInfo(f"m{number}", 1, "python", "cpu", "model", "")
        for number in range(kinds)
    ]
    script.model("outer")
    script.call(None, "outer", 0, 0, 0, 9, 0)
    rows = [
        FoldedCalls(models[0] if number else None, model, 10 + number, 0, 2_000_000)
        for number, model in enumerate(models)
    ]
    trace = replace(script.trace(), folded=tuple(rows))
    named = [
        f"{'m0 → ' if number else ''}m{number} {TIMES}{10 + number} in 2 ms"
        for number in reversed(range(kinds))
    ]

    assert [
        f"folded from {trace.call_count:,} calls: 1 shown one by one (the first, "
        "the last, failed and slowest ones), the others counted: "
        f"{'; '.join(named[:5])}{more}"
    ] == folded_note(trace)


def test_the_document_names_the_calls_that_are_only_counted():
    """The line is below the table, and a note of the first call."""
    trace = folded(the_loop(), 100)

    header, _ = encode(trace)
    assert LINE in document.html(trace)
    assert (1001, 0) == (header["run"]["calls"], header["run"]["errors"])
    [[caller, model, calls, errors, us, first, last, took]] = header["run"]["folded"]
    assert (0, 1, 900, 0, 13_500.0) == (caller, model, calls, errors, us)
    assert (10 + 18 * 50, 10 + 18 * 949 + 15) == (first, last)
    # Of 15 µs: from 2 ** (110 / 8) ns, which is 13.8 µs, to 15.02 µs.
    assert [[110, 900]] == took
    assert "folded" not in encode(the_loop().trace())[0]["run"]
    assert [] == folded_note(the_loop().trace())


def test_a_very_long_run_of_a_file_is_folded_for_the_page():
    """The same calls stay as in a recorded run, with the same callers."""
    script = the_loop()
    fail(script.calls[500], "no")
    script.calls[700].request_end_ns += 90_000
    script.model("below")
    script.call(script.calls[600], "below", 10_815, 0, 0, 1, 0)
    script.calls[-1].request_start_ns += 10_000_000
    script.calls[-1].request_end_ns += 10_000_000
    trace = script.trace()
    short = shortened(trace, 100)
    starts = {span.request_start_ns: span for span in trace.spans}

    assert short.call_count == len(trace.spans)
    assert trace is shortened(trace, 2000)
    assert 103 == len(short.spans)
    assert [*range(103)] == [span.index for span in short.spans]
    for span in some(short.spans):
        before = starts[span.request_start_ns]
        assert (span.parent < 0) == (before.parent < 0)
        if span.parent >= 0:
            was = trace.spans[before.parent].request_start_ns
            assert short.spans[span.parent].request_start_ns == was
    kept = {starts[span.request_start_ns].index for span in short.spans}
    assert {0, 500, 600, 700, 1001} <= kept
    again = shortened(short, 50)
    assert (1002, 1) == (again.call_count, again.error_count)


def test_a_page_of_a_very_long_run_has_a_note_that_it_is_folded(monkeypatch):
    """Live, finished and without scripts."""
    monkeypatch.setattr("blsnb.trace.excerpt.MAX_CALLS", 100)
    monkeypatch.setattr(shortened, "__defaults__", (100,))
    trace = the_loop().trace()

    assert "folded from 1,001 calls" in document.still(page_excerpt(trace))
    view = trace_view.TraceView(lambda: trace)
    sent = []
    view.send = lambda content, buffers=(): sent.append(content)
    view.finish(time.monotonic_ns())
    view.close()
    assert 101 == sent[0]["header"]["n"]


def test_the_picture_shows_when_counted_calls_ran():
    """They are a pale band, if their times are known."""
    trace = folded(the_loop(), 100)

    counted = OnlyCounted(trace)

    assert (10 + 18 * 50, 10 + 18 * 949 + 15) == counted.stretch(range(1, 101))
    assert counted.stretch(range(1, 100)) is None
    assert 'opacity="0.16"' in snapshot(trace)
    assert 'opacity="0.16"' not in snapshot(the_loop().trace())


def test_picture_figure_and_tree_count_all_calls_of_a_row():
    """They show number and time of all calls, and how many are shown one by one."""
    trace = folded(the_loop(), 100)
    drawn = snapshot(trace)
    title, _, inner, *_ = tree(trace).splitlines()

    assert title.endswith(" 1,001 calls, 2 models, 101 shown one by one"), title
    assert f"inner {TIMES}1,000  15 ms  100 kept" == inner.strip()
    for words in (f" {TIMES}1,000<", ">100 kept<", ">15 ms total<", ">101 shown one"):
        assert words in drawn
    labels = [
        label.get_text().strip() for label in plot(trace).axes[1].get_yticklabels()
    ]
    assert ["outer", f"inner {TIMES}1,000"] == labels


def test_own_time_excludes_child_calls_that_are_only_counted():
    """Only the own time after the last child call is solid."""

    def own(trace):
        picture = snapshot(trace)
        solid = r'<path d="M([\d.]+) [\d.]+h([\d.]+)v12h-[\d.]+z" fill="#1b4f93"/>'
        return re.search(solid, picture).groups()

    less, whole = own(folded(the_loop(), 100)), own(the_loop().trace(60_000))
    assert float(less[0]) > 700
    assert pytest.approx(float(whole[1]), abs=2) == float(less[1])


def test_failures_are_marked_along_the_whole_strip():
    """Marks that would hide each other are thinned out evenly."""
    script = the_loop()
    for call in script.calls[1:]:
        fail(call, "no")
    drawn = snapshot(script.trace())
    (marks,) = re.findall(r'<path d="((?:M\d+ [\d.]+h6l-3 4z)+)"', drawn)
    places = [int(x) for x in re.findall(r"M(\d+)", marks)]

    assert 50 < len(places) < 110
    assert places[-1] - places[0] > 500
    assert max(b - a for a, b in itertools.pairwise(places)) <= 12


def test_a_live_view_is_sent_whole_when_calls_were_folded():
    """Rows have new numbers, so no old row may stay."""
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


def test_the_picture_of_a_page_shows_the_calls_of_the_page(monkeypatch):
    """A part slightly longer than the limit is not shortened again."""
    monkeypatch.setattr("blsnb.trace.excerpt.MAX_CALLS", 100)
    made: list[Trace] = []

    def noted(trace: Trace) -> Trace:
        made.append(shortened(trace))
        return made[-1]

    monkeypatch.setattr("blsnb.trace.excerpt.shortened", noted)
    document.html(batch_run(2000))

    assert 1 == len(made)
    assert 100 < len(made[0].spans)
