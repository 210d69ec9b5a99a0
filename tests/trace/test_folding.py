"""A long run keeps some of its calls, and counts the others."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blsnb.tensors.dtypes import BY_DATATYPE
from blsnb.tensors.ref import freeze
from blsnb.trace.capture import trace_of
from blsnb.trace.events import Call, ModelInfo
from blsnb.trace.folding import FoldedCounts, fold
from blsnb.trace.recorder import Recorder
from blsnb.trace.run_record import RunRecord

MODELS = [ModelInfo(name, 1, "python", "cpu", "model", "") for name in "abc"]
OUTER, INNER, _ = MODELS


def a_call(parent: Call | None, number: int, **facts: object) -> Call:
    """Return an ended call that took one nanosecond longer than the previous one."""
    call = Call(INNER if parent else OUTER, parent, number)
    call.request_start_ns = 1000 * (number + 1)
    call.request_end_ns = call.request_start_ns + number
    call.ended = True
    for name, value in facts.items():
        setattr(call, name, value)
    return call


def a_loop(size: int) -> list[Call]:
    """Return one call that makes others, one after the other."""
    root = a_call(None, 0)
    return [root, *(a_call(root, number) for number in range(1, size))]


def a_run(recorder: Recorder, size: int, model: ModelInfo = INNER) -> RunRecord:
    """Record a client request with calls, and end the run."""
    run = recorder.begin()
    root = recorder.open(run, OUTER, None)
    for _ in range(size - 1):
        recorder.close(run, recorder.open(run, model, root), (), ())
    recorder.close(run, root, (), ())
    recorder.end(run)
    return run


def test_the_first_and_the_last_calls_stay():
    """The slowest of the others stays, too."""
    calls = a_loop(20)
    calls[10].request_end_ns += 500
    left = fold(calls, 8)

    assert [0, 1, 2, 3, 10, 16, 17, 18, 19] == [call.id for call in calls]
    assert 11 == len(left)


def test_failed_calls_stay_while_there_is_room():
    """The latest ones fill one tenth of the room."""
    calls = a_loop(100)
    for number in (30, 40, 50, 60):
        calls[number].error = "boom"
    fold(calls, 20)

    assert {50, 60} <= {call.id for call in calls}
    assert not {30, 40} & {call.id for call in calls}


def test_running_calls_and_their_callers_stay():
    """No call is counted before it is complete, or loses its caller."""
    calls = a_loop(50)
    caller = calls[20]
    calls.append(a_call(caller, 50))
    calls[25].ended = False
    fold(calls, 4)

    assert [0, 1, 20, 25, 48, 49, 50] == [call.id for call in calls if call.id != 47]


TREES = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 2), st.booleans(), st.booleans()),
    max_size=60,
)


@given(TREES, st.lists(st.integers(0, 40), min_size=1, max_size=3))
def test_folding_keeps_all_sums(tree, rooms):
    """Kept and counted calls add up to all; callers are kept."""
    calls = [a_call(None, 0, ended=False)]
    for back, model, failed, ended in tree:
        parent = calls[max(0, len(calls) - 1 - back)]
        facts = {"model": MODELS[model], "error": "boom" * failed, "ended": ended}
        calls.append(a_call(parent, len(calls), **facts))
    before = list(calls)
    counts = FoldedCounts()
    for room in rooms:
        counts.add(fold(calls, room))

    folded = counts.listed()
    gone = [call for call in before if call not in calls]
    assert len(gone) == sum(each.calls for each in folded)
    assert sum(bool(c.error) for c in gone) == sum(each.errors for each in folded)
    assert sum(c.id for c in gone) == sum(each.duration_ns for each in folded)
    assert sorted(calls, key=lambda call: call.id) == calls
    assert all(call.parent is None or call.parent in calls for call in calls)
    assert all(call.ended for call in gone)


def test_calls_are_counted_at_once_as_one_by_one():
    """Sums, times and latencies are equal, also of calls without duration."""
    root = a_call(None, 0, error="no")
    calls = [root, *(a_call(root, number % 3) for number in range(9))]
    calls.append(a_call(root, 4, error="no"))
    one_by_one, at_once = FoldedCounts(), FoldedCounts()

    for call in calls:
        one_by_one.add([call])
    at_once.add(calls)

    assert one_by_one.listed() == at_once.listed()
    assert [(1, 1), (10, 1)] == [(each.calls, each.errors) for each in at_once.listed()]
    # Three calls of 0 ns, six of 1 and 2 ns, and one of 4 ns.
    assert ((0, 6), (8, 3), (16, 1)) == at_once.listed()[1].latencies


def test_counts_have_the_first_start_and_the_last_end():
    """The calls of a pair are counted in any order."""
    counts = FoldedCounts()
    for times in (([70], [95]), ([50, 80], [60, 90])):
        counts.count((OUTER, INNER), *np.array(times, np.int64), errors=1)

    (counted,) = counts.listed()
    assert (50, 95, 3, 2) == (
        counted.first_ns,
        counted.last_ns,
        counted.calls,
        counted.errors,
    )
    assert 25 + 10 + 10 == counted.duration_ns


def test_a_long_run_is_folded_while_it_runs():
    """Its trace has kept calls, counts of the others, and the sum of all."""
    recorder = Recorder(keep_calls=100, keep_runs=1)
    run = a_run(recorder, 1000)
    trace = trace_of(run.id, run.calls, 1, folded=run.folded.listed())

    assert len(run.calls) <= 100
    ((caller, model, count, *_),) = run.folded.listed()
    assert (OUTER, INNER, 1000 - len(run.calls)) == (caller, model, count)
    # None of these calls has a time, so none is a span.
    assert count == trace.call_count


def test_the_newest_runs_keep_their_calls():
    """Older runs keep a minimum, so that a long run does not empty short ones."""
    recorder = Recorder(keep_calls=160, keep_runs=4)
    short = a_run(recorder, 10)
    long = [a_run(recorder, 100) for _ in range(3)]

    assert 10 == len(short.calls)
    assert 100 == len(long[2].calls)
    assert 20 > len(long[0].calls)
    assert 160 >= sum(len(run.calls) for run in recorder.runs)


def test_a_pinned_run_keeps_every_call():
    """Later runs do not matter."""
    recorder = Recorder(keep_calls=100)
    pinned = a_run(recorder, 90)
    pinned.pinned = True
    newer = a_run(recorder, 300)

    assert 90 == len(pinned.calls)
    assert newer.folded.listed()


def test_calls_that_are_only_counted_hold_no_values():
    """The run's sum of values does not include them."""
    recorder = Recorder(keep_calls=40, keep_runs=1)
    tensor = freeze("T", np.zeros(8, np.uint8), BY_DATATYPE["UINT8"])
    run = recorder.begin()
    for _ in range(200):
        recorder.close(run, recorder.open(run, INNER, None), (tensor,), ())

    assert set(run.held) <= set(run.calls)
    assert 8 * len(run.held) == run.held_bytes
    recorder.end(run)
    assert 8 * len(run.held) == run.held_bytes


def test_calls_that_cannot_be_folded_are_examined_rarely():
    """Running calls are kept, and not examined with every new call."""
    recorder = Recorder(keep_calls=64, keep_runs=1)
    run = recorder.begin()
    parent = None
    folds = set()
    for _ in range(200):
        parent = recorder.open(run, INNER, parent)
        folds.add(run.fold_at)

    assert 200 == len(run.calls)
    assert len(folds) < 40


def test_a_trace_taken_before_a_fold_is_obsolete():
    """The next trace has the calls that are kept now."""
    recorder = Recorder(keep_calls=100, keep_runs=2)
    run = a_run(recorder, 90)
    run.taken = object()  # type: ignore[assignment]
    a_run(recorder, 300)

    assert run.taken is None


def test_calls_that_are_opened_during_a_fold_are_folded_too(monkeypatch):
    """A slow fold does not let other threads exceed the limit."""
    recorder = Recorder(keep_calls=200, keep_runs=1)
    run = recorder.begin()
    root = recorder.open(run, OUTER, None)
    fold_all, others = Recorder._fold_all, [500]

    def slowly(self, runs):
        fold_all(self, runs)
        for _ in range(others.pop() if others else 0):
            recorder.close(run, recorder.open(run, INNER, root), (), ())

    monkeypatch.setattr(Recorder, "_fold_all", slowly)
    for _ in range(200):
        recorder.close(run, recorder.open(run, INNER, root), (), ())

    assert [] == others
    assert 701 == len(run.calls) + sum(each.calls for each in run.folded.listed())
    assert len(run.calls) <= 200


@pytest.mark.parametrize("level", [1, 2])
def test_threads_that_add_to_one_run_lose_no_call(level):
    """Each call is kept or counted once."""
    recorder = Recorder(keep_calls=200, keep_runs=1)
    run = recorder.begin()
    root = recorder.open(run, OUTER, None)

    def work() -> None:
        for _ in range(500):
            recorder.close(run, recorder.open(run, INNER, root), (), ())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    folded = sum(each.calls for each in run.folded.listed())
    assert 2001 == len(run.calls) + folded
    assert len(run.calls) <= 250
