"""Specification of what a trace says about calls and values that it no longer keeps."""

from __future__ import annotations

from dataclasses import replace

import pytest
from views.samples import recorded, tensor

from blsnb.errors import TraceError
from blsnb.results.traced import take_trace
from blsnb.trace.dropped import (
    PIN,
    find_call,
    missing_call,
    missing_values,
    notices,
    was_dropped,
)
from blsnb.trace.events import ModelInfo
from blsnb.trace.facts import Drop, RecordingFacts
from blsnb.trace.folding import FoldedCalls
from blsnb.trace.recorder import Recorder
from blsnb.trace.spans import Trace
from blsnb.views.documents.document import still
from blsnb.views.tree import tree


@pytest.fixture
def trimmed() -> Trace:
    """A run of 100 calls of which a later run has left a quarter."""
    recorder = Recorder(keep_calls=120, keep_runs=2)
    run = recorded(recorder, 100)
    recorded(recorder, 90)
    return take_trace(run)


def test_a_call_keeps_its_id_and_its_values_when_others_are_dropped(trimmed):
    """Its position does not matter."""
    found = [int(span.inputs[0].view()[0]) for span in trimmed.spans if span.inputs]

    assert len(trimmed.spans) < 60
    assert found == [span.id for span in trimmed.spans[1:]]
    assert [span.id for span in trimmed.spans] == [
        find_call(trimmed, span.id).id for span in trimmed.spans
    ]


def test_a_call_was_dropped_if_it_was_one_of_those(trimmed):
    """The first call has the id 0; a later one is not there yet."""
    without_root = replace(trimmed, spans=trimmed.spans[1:])
    (drop,) = trimmed.drops

    dropped = [-1, 0, drop.last, drop.last + 1]
    assert [False, True, True, False] == [
        was_dropped(without_root, call) for call in dropped
    ]


def test_dropped_calls_are_named_with_their_limit(trimmed):
    """The text has number, setting, value, and how to keep calls."""
    (drop,) = trimmed.drops

    assert Drop("calls", "keep_calls", 120, 101 - len(trimmed.spans), drop.last) == drop
    text = missing_call(trimmed, 50)
    assert (
        "call 50 is no longer kept: keep_calls=120 limits the calls that are kept one "
        "by one, newest runs first. run.keep() pins a run: nothing of it is dropped "
        "from then on"
    ) == text
    for call, hint in ((101, ""), (-1, "; a view without a selected call has -1")):
        with pytest.raises(TraceError) as error:
            find_call(trimmed, call)
        told = f"the run has no call {call}; its calls are 0 to 100{hint}"
        assert told == str(error.value)


def test_lost_values_are_named_with_their_limit():
    """The calls themselves are kept."""
    recorder = Recorder(budget_bytes=80)
    trace = take_trace(recorded(recorder, 30))

    assert (Drop("values", "trace_budget_bytes", 80, 20),) == trace.drops
    why = (
        "trace_budget_bytes=80 limits the tensor values that are kept, newest runs "
        "first. run.keep() pins a run: nothing of it is dropped from then on"
    )
    both = ["input 'X'", "input 'Z'"]
    assert [
        f"values are no longer kept: {why}",
        f"the value of input 'X' is no longer kept: {why}",
        f"the values of input 'X' and input 'Z' are no longer kept: {why}",
    ] == [missing_values(trace, both[:count]) for count in range(3)]
    assert f"values are no longer kept. {PIN}" == missing_values(
        replace(trace, drops=())
    )


OF_THE_RECORDER = (
    ": the recorder summarises values larger than BLSNB_RECORDER_TENSOR_BYTES and "
    "those of devices, and redacts by name"
)
BY_LIMITS = ": {} of the server limits what it holds. " + PIN


@pytest.mark.parametrize(
    ("file", "recording", "values", "calls"),
    [
        (
            "a.BLSRUN",
            None,
            BY_LIMITS.format("run.save(budget_bytes=...) or trace_budget_bytes"),
            BY_LIMITS.format("keep_calls"),
        ),
        ("a.blsrun", RecordingFacts({}, {}), OF_THE_RECORDER, OF_THE_RECORDER),
        ("a.json", None, "", ""),
    ],
)
def test_what_a_file_does_not_hold_was_limited_as_it_was_written(
    trimmed, file, recording, values, calls
):
    """Triton's own files say nothing of limits."""
    trace = replace(
        trimmed,
        file=file,
        recording=recording,
        drops=(),
        folded=(FoldedCalls(None, trimmed.models[0], 7, 0, 0),),
    )
    kept = f"{len(trace.spans)} of {trace.call_count} calls"

    assert [
        f"{file} does not hold the values{values}",
        f"{file} does not hold the value of input 'X'{values}",
        f"call 50 is only counted: {file} holds {kept}{calls}",
    ] == [
        missing_values(trace),
        missing_values(trace, ["input 'X'"]),
        missing_call(trace, 50),
    ]


def test_a_trace_without_calls_names_the_level_that_has_them():
    """Nothing was recorded."""
    assert (
        "the run has no call 0: no calls were recorded. At trace_level='tensors' calls "
        "are recorded, with their inputs"
    ) == missing_call(Trace("0", "", "", (), (), 0), 0)


@pytest.mark.parametrize(
    ("pinned", "kept"), [((), [1, 9]), ((0,), [9, 9]), ((1,), [9, 9]), ((0, 1), [9, 9])]
)
def test_runs_at_the_same_time_share_the_budget_at_their_ends(pinned, kept):
    """Values of the newest run are kept first; pinned runs do not count."""
    recorder = Recorder(budget_bytes=80)
    model = ModelInfo("m", 1, "python", "cpu", "model", "")
    runs = [recorder.begin(), recorder.begin()]
    for run in runs:
        for number in range(1, 10):
            call = recorder.open(run, model, None)
            call.request_start_ns, call.request_end_ns = number, number + 1
            recorder.close(run, call, (tensor("X", "FP32", [number] * 2),), ())
    for number in pinned:
        runs[number].pinned = True
    for run in runs:
        recorder.end(run)

    assert kept == [
        sum(call.inputs[0].data is not None for call in run.calls) for run in runs
    ]


def test_every_later_view_reports_dropped_calls(trimmed):
    """Text and static picture report it."""
    (line,) = notices(trimmed)

    assert (
        f"{101 - len(trimmed.spans)} calls dropped: keep_calls=120 limits the calls "
        f"that are kept one by one, newest runs first. {PIN}."
    ) == line
    assert line in tree(trimmed)
    assert line in still(trimmed)


def test_a_complete_run_has_no_notices():
    """A run that was pinned in time has none, either."""
    recorder = Recorder(keep_calls=120, keep_runs=2)
    run = recorded(recorder, 100)
    assert () == take_trace(run).drops
    run.pinned = True
    recorded(recorder, 110)
    assert () == take_trace(run).drops
    assert 101 == len(take_trace(run).spans)


def test_calls_that_start_at_once_are_listed_in_the_order_of_their_ids():
    """Threads may record or start them in another order."""
    recorder = Recorder()
    run = recorded(recorder, 3)
    run.calls[1:3] = run.calls[2:0:-1]

    assert [0, 1, 2, 3] == [span.id for span in take_trace(run).spans]


def test_a_dropped_run_is_distinguished_from_an_unknown_one():
    """Only the former was recorded."""
    recorder = Recorder(keep_runs=1)
    runs = [recorded(recorder, 1) for _ in range(3)]

    assert [True, True, False] == [recorder.has_forgotten(run.id) for run in runs]
    assert not recorder.has_forgotten("00ff")
