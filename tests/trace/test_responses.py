"""What is kept of a stream: its ends, and how much there was between."""

from __future__ import annotations

import numpy as np
import pytest

from blsnb.tensors.dtypes import BY_DATATYPE
from blsnb.tensors.ref import TensorRef, freeze
from blsnb.trace.capture import trace_of
from blsnb.trace.events import ModelInfo, TraceLevel
from blsnb.trace.recorder import KEEP_RESPONSES, Recorder
from blsnb.trace.responses import Ends, ResponseLog
from blsnb.trace.spans import Trace

MODEL = ModelInfo("m", 1, "python", "cpu", "model", "")
FP32 = BY_DATATYPE["FP32"]


def kept(most: int, most_bytes: int, *sizes: int) -> list[int]:
    """Return the numbers of the kept items of items with these sizes."""
    ends: Ends[int] = Ends(most, most_bytes)
    for number, size in enumerate(sizes):
        ends.add(number, size)
    assert len(sizes) - len(ends.items) == ends.left_out
    return ends.items


@pytest.mark.parametrize(
    ("most", "most_bytes", "sizes", "expected"),
    [
        (4, 100, [1] * 4, [0, 1, 2, 3]),
        (4, 100, [1] * 9, [0, 1, 7, 8]),
        (3, 100, [1] * 9, [0, 7, 8]),
        (0, 100, [1] * 9, []),
        (100, 10, [1] * 10, list(range(10))),
        (100, 10, [1] * 20, [0, 1, 2, 3, 4, 15, 16, 17, 18, 19]),
        (100, 10, [8, 1, 1, 1], [1, 2, 3]),
        (100, 10, [1, 99], [0, 1]),
        (100, 10, [1, 99, 99], [0, 2]),
    ],
)
def test_the_first_and_the_latest_items_are_kept(most, most_bytes, sizes, expected):
    """Number and bytes are limited; the latest item stays, however large."""
    assert expected == kept(most, most_bytes, *sizes)


def test_fewer_may_be_kept_later():
    """The limit applies to present and future items."""
    ends: Ends[int] = Ends(10, 100)
    for number in range(20):
        ends.add(number, 1)
    ends.shrink(4)

    assert ([0, 1, 18, 19], 4, 16) == (ends.items, ends.byte_size, ends.left_out)
    ends.add(20, 1)
    assert [0, 1, 19, 20] == ends.items


def value(number: float, length: int = 25) -> TensorRef:
    """Return a tensor of 100 bytes, or of four times a length."""
    return freeze("Y", np.full(length, number, np.float32), FP32)


def logged(log: ResponseLog, count: int) -> ResponseLog:
    """Add responses of 100 bytes; every third one is an error."""
    for number in range(count):
        if number % 3 == 2:
            log.add(number, (), "no")
        else:
            log.add(number, (value(number),), "")
    return log


def test_values_are_dropped_before_times():
    """A response without values keeps its number, time and description."""
    events = list(logged(ResponseLog(10, 400), 10))

    assert list(range(10)) == [event.number for event in events]
    assert list(range(10)) == [event.ns for event in events]
    evicted = [event.outputs[0].evicted for event in events if event.outputs]
    assert [False, False, True, True, True, False, False] == evicted
    assert {100} == {event.outputs[0].byte_size for event in events if event.outputs}


def test_responses_that_are_not_kept_are_mentioned():
    """The remark counts their errors; a complete log has no remark."""
    log = logged(ResponseLog(4, None), 3000)

    assert "" == logged(ResponseLog(4, None), 4).gap()
    assert (
        "Sent: 3,000 responses. Kept one by one: the first 2 and the latest 2. "
        "Only counted: 2,996, 999 of them with an error."
    ) == log.gap()


def streamed(recorder: Recorder, calls: int, count: int) -> Trace:
    """Record a run of calls with responses."""
    run = recorder.begin()
    for _ in range(calls):
        call = recorder.open(run, MODEL, None)
        call.request_start_ns = call.request_end_ns = 1
        recorder.log_responses(run, call)
        logged(call.responses, count)
        recorder.close(run, call, (), ())
    recorder.end(run)
    return trace_of(run.id, run.calls, 2)


@pytest.mark.parametrize("notes", [True, False])
def test_a_trace_counts_all_responses_and_names_the_kept_ones(notes):
    """The remark is shown even if notes are off."""
    recorder = Recorder()
    run = recorder.begin()
    call = recorder.open(run, MODEL, None)
    call.request_start_ns = 1
    recorder.log_responses(run, call)
    logged(call.responses, 3000)

    (span,) = trace_of(run.id, run.calls, 2, notes=notes).spans
    assert (3000, KEEP_RESPONSES) == (span.response_count, len(span.responses))
    assert [0, 2999] == [span.responses[at].number for at in (0, -1)]
    assert ("Sent: 3,000 responses.",) == tuple(n[:22] for n in span.notes)


def test_many_calls_with_responses_keep_a_few_each():
    """A run with thousands of streams is bounded, too."""
    trace = streamed(Recorder(TraceLevel.TIMESTAMPS), 100, 200)

    assert [200] * 100 == [span.response_count for span in trace.spans]
    counts = [len(span.responses) for span in trace.spans]
    assert (200, 8) == (counts[0], counts[-1])
    assert sum(counts) < 7000


def test_values_of_streams_stay_within_the_budget():
    """Open and ended streams are included."""
    recorder = Recorder(budget_bytes=4000)
    run = recorder.begin()
    calls = [recorder.open(run, MODEL, None) for _ in range(3)]
    for call in calls:
        recorder.log_responses(run, call)
        logged(call.responses, 300)
    held = [call.responses.held_bytes for call in calls]
    assert (2000, 1000) == (held[0], held[1])
    assert sum(held) <= 4000

    for call in calls:
        recorder.close(run, call, (), ())
    recorder.end(run)
    other = streamed(recorder, 1, 300)
    assert 1600 == run.held_bytes == sum(call.responses.held_bytes for call in calls)
    assert any(r.outputs and not r.outputs[0].evicted for r in other.spans[0].responses)


def test_nothing_is_kept_of_the_responses_where_nothing_is_recorded():
    """They are counted nevertheless."""
    recorder = Recorder(TraceLevel.OFF)
    run = recorder.begin()
    call = recorder.open(run, MODEL, None)
    recorder.log_responses(run, call)
    logged(call.responses, 9)

    assert ([], 9) == (list(call.responses), call.responses.count)
