"""From recorded calls to a tree of values."""

from __future__ import annotations

from blsnb.request_fields import RequestFields
from blsnb.trace.capture import trace_of
from blsnb.trace.events import Call, CallFlag, LogLine, ModelInfo
from blsnb.trace.spans import Trace

OUTER = ModelInfo("outer", 1, "python", "cpu", "model", "source")
INNER = ModelInfo("inner", 1, "python", "cpu", "model", "")
_TIMES = (
    "request_start_ns",
    "queue_start_ns",
    "compute_start_ns",
    "compute_input_end_ns",
    "compute_output_start_ns",
    "compute_end_ns",
    "request_end_ns",
)


def a_call(model: ModelInfo, parent: Call | None, start_ns: int, end_ns: int) -> Call:
    """Return a call with a start and, unless 0, an end."""
    call = Call(model, parent, 0 if parent is None else parent.id + 1)
    call.request_start_ns = start_ns
    call.request_end_ns = end_ns
    return call


def two_calls(end_ns: int = 40) -> Trace:
    """Return one model's call of another."""
    outer = a_call(OUTER, None, 10, end_ns)
    outer.request_fields = RequestFields(request_id="mine")
    return trace_of("0001", [outer, a_call(INNER, outer, 20, 30)], 50)


def test_a_tree_is_made_of_calls():
    """Rows are in order of start, each with its caller."""
    trace = two_calls()

    assert ("0001", "outer", "mine") == (trace.run_id, trace.title, trace.request_id)
    assert (OUTER, INNER) == trace.models
    assert [(-1, 0), (0, 1)] == [(span.parent, span.model) for span in trace.spans]
    assert ((1,), ()) == trace.children
    assert (0,) == trace.roots


def test_a_call_that_has_not_started_is_not_in_the_trace():
    """It is recorded shortly before its start."""
    outer = a_call(OUTER, None, 10, 0)
    trace = trace_of("0001", [outer, a_call(INNER, outer, 0, 0)], 50)

    assert ["outer"] == [trace.models[span.model].name for span in trace.spans]
    assert 10 == trace.start_ns


def test_an_ended_trace_lasts_until_its_last_call_ends():
    """It begins with the first start."""
    trace = two_calls()

    assert (10, 40, False) == (trace.start_ns, trace.end_ns, trace.running)
    assert [30, 10] == [span.duration_ns for span in trace.spans]


def test_a_running_trace_lasts_until_it_was_taken():
    """A running call has no duration."""
    trace = two_calls(end_ns=0)

    assert (50, True) == (trace.end_ns, trace.running)
    assert [True, False] == [span.running for span in trace.spans]
    assert 0 == trace.spans[0].duration_ns


def test_a_trace_may_be_empty():
    """At level off there are no calls."""
    trace = trace_of("0001", [], 5)

    assert ("", 0, 0, ()) == (trace.title, trace.start_ns, trace.end_ns, trace.roots)


def test_failed_calls_are_counted():
    """They have a flag."""
    call = a_call(OUTER, None, 1, 2)
    call.flags = CallFlag.ERROR
    call.error, call.error_code = "boom", "INTERNAL"
    trace = trace_of("0001", [call], 3)

    assert 1 == trace.error_count
    assert ("boom", "INTERNAL") == (trace.spans[0].error, trace.spans[0].error_code)


def test_a_caller_of_another_run_is_no_caller():
    """A call that outlives its run is shown as a client request."""
    elsewhere = a_call(OUTER, None, 1, 2)

    assert -1 == trace_of("1", [a_call(INNER, elsewhere, 3, 4)], 5).spans[0].parent


def test_a_span_does_not_change_with_its_call():
    """Later log lines are not in it."""
    call = a_call(OUTER, None, 1, 2)
    call.logs = [LogLine(1, "INFO", "first")]
    span = trace_of("0001", [call], 3).spans[0]
    call.logs.append(LogLine(2, "INFO", "second"))

    assert ("first",) == tuple(line.text for line in span.logs)


def test_traces_and_spans_have_a_representation_of_one_line():
    """It has counts instead of contents."""
    outer = a_call(OUTER, None, 1_000_000, 3_000_000)
    inner = a_call(INNER, outer, 2_000_000, 2_500_000)
    inner.instance = "inner_0"
    trace = trace_of("7", [outer, inner], 4_000_000)

    assert "<Trace 7 outer: 2 calls, 2 models>" == repr(trace)
    assert ["<Span 0 of model 0: 2 ms>", "<Span 1 on inner_0: 500 µs>"] == list(
        map(repr, trace.spans)
    )
