"""What is kept of runs, and how long."""

from __future__ import annotations

import itertools
import logging
import sys
import threading
import types
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from blsnb.tensors.dtypes import BY_DATATYPE
from blsnb.tensors.ref import TensorRef, freeze
from blsnb.trace import capture
from blsnb.trace.capture import trace_so_far
from blsnb.trace.events import Call, ModelInfo, TraceLevel
from blsnb.trace.recorder import Recorder
from blsnb.trace.run_record import RunRecord
from blsnb.trace.spans import Trace

MODEL = ModelInfo("model", 1, "python", "cpu", "model", "")


def tensor(byte_size: int) -> TensorRef:
    """A tensor of ``byte_size`` bytes."""
    return freeze("T", np.zeros(byte_size, np.uint8), BY_DATATYPE["UINT8"])


def record(recorder: Recorder, *sizes: int, ended: bool = True) -> RunRecord:
    """Record a run with a call for each size, one after the other."""
    run = recorder.begin()
    for size in sizes:
        call = recorder.open(run, MODEL, None)
        recorder.close(run, call, (tensor(size),), ())
    if ended:
        recorder.end(run)
    return run


def values(run: RunRecord) -> list[bool]:
    """Return, for each call, whether its input still has a value."""
    return [call.inputs[0].data is not None for call in run.calls]


def test_a_run_is_kept_with_its_values():
    """Frozen tensors are held, not copied."""
    recorder = Recorder()
    held = tensor(8)
    run = recorder.begin()
    call = recorder.open(run, MODEL, None)
    recorder.close(run, call, (held,), (held,))
    recorder.end(run)

    assert [run] == recorder.runs
    assert held is call.inputs[0]
    assert held is call.outputs[0]
    assert 16 == run.held_bytes


def test_level_timestamps_keeps_no_values():
    """It keeps calls and times."""
    recorder = Recorder(TraceLevel.TIMESTAMPS)
    run = record(recorder, 8)

    assert [()] == [call.inputs for call in run.calls]
    assert 0 == run.held_bytes


def test_level_off_keeps_nothing():
    """It keeps neither runs nor calls."""
    recorder = Recorder(TraceLevel.OFF)
    run = record(recorder, 8)

    assert [] == recorder.runs
    assert [] == run.calls


@pytest.mark.parametrize("own", list(TraceLevel))
@pytest.mark.parametrize("wanted", [*TraceLevel, None])
def test_a_run_may_be_recorded_and_not_kept(own, wanted):
    """It may have another level, and observers are not notified."""
    recorder = Recorder(own)
    told: list[Any] = []
    recorder.observe(lambda *seen: told.append(seen))
    run = recorder.unkept(wanted)
    call = recorder.open(run, MODEL, None)
    recorder.close(run, call, (tensor(8),), ())
    recorder.end(run)

    level = own if wanted is None else wanted
    assert (level > TraceLevel.OFF) == bool(run.calls)
    assert (level is TraceLevel.TENSORS) == bool(call.inputs)
    assert [] == recorder.runs == told


def test_a_run_that_is_not_kept_is_folded_as_others_are():
    """A million calls of one request must not fill the memory."""
    recorder = Recorder(keep_calls=100)
    run = recorder.unkept()
    for _ in range(1000):
        recorder.close(run, recorder.open(run, MODEL, None), (), ())

    assert len(run.calls) <= 101
    assert 1000 == len(run.calls) + sum(each.calls for each in run.folded.listed())


def test_the_newest_runs_keep_their_values():
    """Older runs lose theirs, but keep names, types and shapes."""
    recorder = Recorder(budget_bytes=25)
    runs = [record(recorder, 10) for _ in range(3)]

    assert [[False], [True], [True]] == [values(run) for run in runs]
    lost = runs[0].calls[0].inputs[0]
    assert ("T", (10,), 10) == (lost.name, lost.shape, lost.byte_size)
    assert [25, None] == [run.budget_bytes for run in runs[:2]]


def test_one_run_keeps_within_the_budget():
    """Its oldest values are dropped first while it runs."""
    recorder = Recorder(budget_bytes=25)
    run = record(recorder, 10, 10, 10, ended=False)

    assert [False, True, True] == values(run)
    assert 20 == run.held_bytes


def test_a_run_in_flight_takes_the_room_of_older_runs():
    """All runs together stay within the budget, also before the run ends."""
    recorder = Recorder(budget_bytes=25)
    older = [record(recorder, 10) for _ in range(2)]
    run = record(recorder, 10, ended=False)

    assert [[False], [True], [True]] == [values(each) for each in [*older, run]]
    assert 25 == older[0].budget_bytes

    call = recorder.open(run, MODEL, None)
    recorder.close(run, call, (tensor(10),), ())
    assert [[False], [True, True]] == [values(each) for each in [older[1], run]]


def test_a_run_in_flight_that_was_removed_keeps_within_the_budget():
    """Nothing else limits it."""
    recorder = Recorder(budget_bytes=25)
    run = recorder.begin()
    recorder.remove(run)
    for _ in range(3):
        recorder.close(run, recorder.open(run, MODEL, None), (tensor(10),), ())

    assert [False, True, True] == values(run)


def test_small_values_make_room_for_many():
    """Otherwise each call of a full trace would add up the values of all runs."""
    recorder = Recorder(budget_bytes=64 * 100)
    run = record(recorder, *[10] * 641, ended=False)

    assert 64 * 100 - 100 == run.held_bytes
    assert 64 * 100 == run.strip_at


def test_a_call_that_ends_last_counts_like_any_other():
    """The first call of a run ends after its callees, and is in the budget."""
    recorder = Recorder(budget_bytes=25)
    run = recorder.begin()
    outer = recorder.open(run, MODEL, None)
    for _ in range(3):
        inner = recorder.open(run, MODEL, outer)
        recorder.close(run, inner, (tensor(10),), ())
    recorder.close(run, outer, (tensor(10),), ())
    recorder.end(run)

    assert [True, False, False, True] == values(run)
    assert 20 == run.held_bytes


def test_a_tensor_larger_than_the_budget_is_not_kept():
    """Its shape is kept."""
    recorder = Recorder(budget_bytes=5)

    assert [False] == values(record(recorder, 10))


def test_a_pinned_run_keeps_its_values():
    """The other runs share the whole budget."""
    recorder = Recorder(budget_bytes=25)
    pinned = record(recorder, 10)
    pinned.pinned = True
    others = [record(recorder, 10) for _ in range(3)]

    assert [True] == values(pinned)
    assert [[False], [True], [True]] == [values(run) for run in others]


def test_only_the_last_runs_are_kept():
    """Dropped runs stay valid for their holders."""
    recorder = Recorder(keep_runs=2)
    runs = [record(recorder, 1) for _ in range(4)]

    assert runs[-2:] == recorder.runs
    assert [True] == values(runs[0])


def test_a_pinned_run_stays_in_the_ring():
    """It does not take the place of another run."""
    recorder = Recorder(keep_runs=2)
    pinned = record(recorder, 1)
    pinned.pinned = True
    runs = [record(recorder, 1) for _ in range(4)]

    assert [pinned, *runs[-2:]] == recorder.runs


def test_a_running_run_stays_in_the_ring():
    """The number of runs that end does not matter."""
    recorder = Recorder(keep_runs=1)
    running = record(recorder, 1, ended=False)
    last = [record(recorder, 1) for _ in range(3)][-1]

    assert {running.id, last.id} >= {run.id for run in recorder.runs}
    assert running in recorder.runs


def test_runs_that_ended_at_the_same_time_are_no_more_than_the_last_ones():
    """The limit applies without waiting for the next run."""
    recorder = Recorder(keep_runs=1)
    first, second = (record(recorder, 1, ended=False) for _ in range(2))
    recorder.end(second)
    recorder.end(first)

    assert [second] == recorder.runs
    assert recorder.has_forgotten(first.id)


def test_evicted_values_make_a_taken_trace_obsolete():
    """No trace shows or keeps evicted values."""
    recorder = Recorder(budget_bytes=15)
    run = record(recorder, 10)
    run.taken = object()  # type: ignore[assignment]
    record(recorder, 10)

    assert run.taken is None


def test_a_dropped_call_did_not_take_place():
    """A request that is routed again leaves one call, not two."""
    recorder = Recorder()
    run = recorder.begin()
    recorder.drop(run, recorder.open(run, MODEL, None))
    call = recorder.open(run, MODEL, None)

    assert [call] == run.calls


def test_observers_see_calls_and_runs_come_and_go():
    """They are notified at start and end of a call, then at the end of the run."""
    recorder = Recorder()
    seen: list[Any] = []
    stop = recorder.observe(lambda run, call: seen.append((run.id, call)))
    run = record(recorder, 1)
    stop()
    record(recorder, 1)

    call = run.calls[0]
    assert [(run.id, call), (run.id, call), (run.id, None)] == seen


def test_an_observer_that_raises_is_removed(caplog: pytest.LogCaptureFixture):
    """It is logged once; other observers and the run continue."""
    recorder = Recorder()
    seen: list[Call | None] = []

    def fail(run: RunRecord, call: Call | None) -> None:
        raise ValueError("no")

    recorder.observe(fail)
    recorder.observe(lambda run, call: seen.append(call))
    with caplog.at_level(logging.ERROR, "blsnb.trace"):
        record(recorder, 1)

    assert 3 == len(seen)
    assert ["an observer of the trace failed and was removed"] == caplog.messages


def at_instruction(
    number: int, work: Callable[[], None], other: Callable[[], Any]
) -> bool:
    """Do some work, and other work at an instruction of it; False if it has fewer."""
    numbers = itertools.count()

    def trace(frame: types.FrameType, event: str, argument: object) -> Any:
        frame.f_trace_opcodes = True
        if event == "opcode" and next(numbers) == number:
            other()
        return trace

    usual = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(usual)
    return number < next(numbers)


def test_an_observer_that_begins_while_another_ends_is_kept():
    """It may begin at any instruction of the other's end."""
    notified: list[int] = []
    for number in itertools.count():
        recorder, seen = Recorder(), []
        stop = recorder.observe(lambda run, call: None)
        observe = partial(recorder.observe, lambda run, call, s=seen: s.append(call))
        if not at_instruction(number, stop, observe):
            break
        record(recorder, 1)
        notified.append(len(seen))

    assert {3} == set(notified)


def test_runs_of_several_threads_do_not_mix():
    """Each has its own calls, and the budget holds in the end."""
    recorder = Recorder(budget_bytes=100, keep_runs=100)
    threads = [
        threading.Thread(target=lambda: [record(recorder, 10, 10) for _ in range(10)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    last = record(recorder, 10)

    assert 41 == len({run.id for run in recorder.runs})
    assert 100 >= sum(run.held_bytes for run in recorder.runs)
    assert [True] == values(last)


@pytest.mark.parametrize(("calls", "kept"), [(900, 900), (990, 900)])
def test_a_run_has_the_room_of_those_that_were_forgotten(calls, kept):
    """Runs are counted rarely, and once more before a call is folded."""
    recorder = Recorder(keep_runs=2, keep_calls=1000)
    for _ in range(10):
        record(recorder, *[1] * 40)
    run = record(recorder, *[1] * calls)

    assert kept <= len(run.calls) <= calls
    assert (calls == kept) == (run.gaps is None)


def test_forgotten_runs_are_not_counted_for_long():
    """All runs are counted after sixteen."""
    recorder = Recorder(keep_runs=2, keep_calls=1000)
    for _ in range(40):
        record(recorder, *[1] * 10)

    assert recorder.begin().fold_at >= 1000 - (2 + 16) * 10


def test_values_of_many_small_runs_keep_within_the_budget():
    """Runs are counted rarely."""
    recorder = Recorder(budget_bytes=1000, keep_runs=100)
    for _ in range(50):
        record(recorder, 90)

        assert sum(run.held_bytes for run in recorder.runs) <= 1000


def test_displayed_runs_leave_room_for_others():
    """They fill at most half of the kept runs."""
    recorder = Recorder(keep_runs=4)
    for _ in range(6):
        record(recorder, 1).is_displayed = True
    others = [record(recorder, 1) for _ in range(5)]

    kept = recorder.runs
    assert [True, True, False, False] == [run.is_displayed for run in kept]
    assert others[-2:] == kept[-2:]


def test_a_call_that_is_closed_after_its_run_makes_a_taken_trace_obsolete():
    """Its error and its values are recorded then."""
    recorder = Recorder()
    run = recorder.begin()
    call = recorder.open(run, MODEL, None)
    call.request_start_ns, call.request_end_ns = 1, 2
    recorder.end(run)
    early = trace_so_far(run, notes=False)
    call.error = "failed"
    recorder.close(run, call, (tensor(8),), ())
    late = trace_so_far(run, notes=False)

    assert ("", ()) == (early.spans[0].error, early.spans[0].inputs)
    assert "failed" == late.spans[0].error
    assert ["T"] == [each.name for each in late.spans[0].inputs]
    assert late is trace_so_far(run, notes=False)


def test_a_run_that_changes_while_its_trace_is_taken_is_taken_again(monkeypatch):
    """A reader may be ahead of the thread that ends a call."""
    run = record(Recorder(), 8)
    run.calls[0].request_start_ns, run.calls[0].request_end_ns = 1, 2
    original = capture.trace_of

    def trace_of(*arguments: Any, **options: Any) -> Trace:
        trace = original(*arguments, **options)
        run.changed()
        return trace

    monkeypatch.setattr(capture, "trace_of", trace_of)

    assert trace_so_far(run, notes=False) is not trace_so_far(run, notes=False)
    assert run.taken is None
