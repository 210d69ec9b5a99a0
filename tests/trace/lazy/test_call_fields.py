"""Fields of a call that are stored together."""

from __future__ import annotations

from blsnb.trace.events import Call, ModelInfo
from blsnb.trace.lazy.call_columns import read_calls
from blsnb.trace.lazy.call_fields import NAMES, arrays_of
from blsnb.trace.recorder import Recorder

MODEL = ModelInfo("m", 1, "python", "cpu", "model", "")


def completed() -> Call:
    """Return the complete record of a call, with times 1 to 7 and execution 8."""
    recorder = Recorder()
    run = recorder.begin()
    call = recorder.open(run, MODEL, None)
    for number, name in enumerate(NAMES, 1):
        setattr(call, name, number)
    recorder.close(run, call, (), ())
    return call


def test_a_complete_record_has_the_same_times():
    """They are stored as bytes then."""
    call = completed()

    assert bytes is type(call.numbers)
    assert [1, 2, 3, 4, 5, 6, 7, 8] == [getattr(call, name) for name in NAMES]


def test_a_complete_record_can_be_changed():
    """An execution may end after its request."""
    call = completed()
    call.request_end_ns = 99

    assert (99, 6, 8) == (call.request_end_ns, call.compute_end_ns, call.execution)


def test_times_of_running_and_of_complete_calls_are_read_together():
    """Numbers that do not fit into 64 bits are kept, too."""
    running = Call(MODEL, None, 1)
    running.request_start_ns = 2**70
    numbers = [completed().numbers, running.numbers]

    assert [1, 2**70] == arrays_of(numbers)["request_start_ns"].tolist()
    assert [8, 0] == arrays_of(numbers)["execution"].tolist()
    assert {name: 0 for name in NAMES} == {k: len(v) for k, v in arrays_of([]).items()}


def test_rare_facts_are_read_as_those_of_other_calls():
    """A call without them has the defaults."""
    plain, failed = Call(MODEL, None, 0), Call(MODEL, None, 1)
    failed.error, failed.notes = "boom", ["why"]

    read = read_calls([plain, failed])

    assert ["", "boom"] == read["error"]
    assert [None, ["why"]] == read["notes"]
    assert [(), ()] == read["response_parameters"]
    assert plain.extras is None


def test_a_call_without_an_execution_is_small_when_its_run_ends():
    """It may have been answered by a cache, or be that of an ensemble."""
    recorder = Recorder()
    run = recorder.begin()
    call = recorder.open(run, MODEL, None)
    call.request_start_ns, call.request_end_ns = 1, 2
    recorder.close(run, call, (), ())
    recorder.end(run)

    assert bytes is type(call.numbers)
