"""Spans that are made when they are read."""

from __future__ import annotations

import gc
from typing import NamedTuple

from blsnb.trace.capture import trace_of
from blsnb.trace.events import Call, ModelInfo
from blsnb.trace.excerpt import shortened
from blsnb.trace.lazy.lazy_rows import LazyRows, column_of
from blsnb.trace.review import reviewed
from blsnb.trace.spans import Span
from blsnb.views.documents.document import html
from tests.views.samples import batch_run

MODEL = ModelInfo("m", 1, "python", "cpu", "model", "")


class Pair(NamedTuple):
    """A value of two fields."""

    left: int
    right: str


class Maker:
    """Makes pairs and lists them."""

    def __init__(self) -> None:
        self.made: list[Pair] = []

    def __call__(self, left: int, right: str) -> Pair:
        """Return a pair."""
        self.made.append(Pair(left, right))
        return self.made[-1]


def rows(make: Maker) -> LazyRows[Pair]:
    """Return three rows."""
    return LazyRows(make, {"left": [1, 2, 3], "right": ["a", "b", "c"]})


def spans_alive() -> int:
    """Return the number of spans in memory."""
    gc.collect()
    return sum(type(each) is Span for each in gc.get_objects())


def test_a_value_is_made_when_it_is_first_read():
    """It is the same object from then on."""
    make = Maker()
    found = rows(make)

    assert ([], 3) == (make.made, len(found))
    assert found[1] is found[-2] is list(found)[1]
    assert [(2, "b"), (1, "a"), (3, "c")] == make.made


def test_a_column_makes_no_value():
    """Fields of plain values are read one by one."""
    make = Maker()

    assert ["a", "b", "c"] == column_of(rows(make), "right")
    assert [4] == column_of([Pair(4, "d")], "left")
    assert [] == make.made


def test_rows_are_equal_to_a_tuple_of_the_same_values():
    """They have its slices, order and representation, too."""
    found, values = rows(Maker()), (Pair(1, "a"), Pair(2, "b"), Pair(3, "c"))

    assert found == values == found
    assert values[::-1] == found[::-1] == tuple(reversed(found))
    assert (repr(values), hash(values)) == (repr(found), hash(found))
    assert values[:2] != found


def test_a_changed_column_leaves_the_original_as_it_was():
    """Other fields and rows are shared."""
    found = rows(Maker())

    changed = found.with_column("right", lambda: ["a", "x", "c"])

    assert [(1, "a"), (2, "x"), (3, "c")] == list(changed)
    assert "b" == found[1].right


def test_a_changed_column_is_made_when_it_is_first_read():
    """Other columns are read without it, a value has it; it is made once."""
    made: list[str] = []
    found = rows(Maker()).with_column("right", lambda: made.append("x") or ["x"] * 3)

    assert ([1, 2, 3], []) == (found.column("left"), made)
    assert ((1, "x"), ["x"] * 3, ["x"]) == (found[0], found.column("right"), made)


def test_a_call_that_has_not_started_is_not_in_the_trace():
    """It has no time yet; the calls around it are."""
    calls = [Call(MODEL, None, number) for number in range(3)]
    calls[0].request_start_ns, calls[2].request_start_ns = 4, 5

    assert [(0, 0, 4), (1, 2, 5)] == [
        (span.index, span.id, span.request_start_ns)
        for span in trace_of("run", calls, 9).spans
    ]


def test_a_trace_makes_no_span_before_it_is_read():
    """Its review needs the caller of a loop only."""
    root = Call(MODEL, None, 0)
    calls = [root, *(Call(MODEL, root, number) for number in range(1, 50))]
    for number, call in enumerate(calls):
        call.request_start_ns, call.line = 10 * number + 1, 7
        call.request_end_ns = 10 * number + 9 if number else 999
    before = spans_alive()

    trace = reviewed(trace_of("run", calls, 1000))
    facts = trace.running, trace.start_ns, trace.end_ns, trace.error_count

    assert (False, 1, 999, 0) == facts
    assert "49 calls of m" in trace.spans[0].notes[0]
    assert 3 > spans_alive() - before


def test_the_page_of_a_long_run_makes_few_spans():
    """Most calls of a page are rows of numbers only."""
    short = shortened(batch_run(3000), 2000)
    before = spans_alive()

    html(short)

    assert 1000 > spans_alive() - before


def test_a_long_run_is_shortened_again_alike():
    """Its calls keep their ids, and their callers by position."""
    short = shortened(batch_run(3000), 2000)
    again = shortened(short, 1999)

    assert short.call_count == again.call_count == 3000
    callers = [short.spans[each.parent].id for each in short.spans[1:]]
    whole = batch_run(3000)
    expected = [whole.spans[whole.spans[each.id].parent].id for each in short.spans[1:]]
    assert expected == callers
