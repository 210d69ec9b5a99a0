"""Specification of requests that are not recorded, because of the sampling rate."""

from __future__ import annotations

import pytest

import blsnb
from blsnb.recorder.stub.executions import RecordedCall
from blsnb.recorder.stub.open_executions import OpenExecutions
from blsnb.recorder.stub.settings import RecorderSettings

from .stub_runs import run_stub, write_recorder

CALLS = 10
"""Maximum number of the recorder's functions that a request with a BLS call executes.

Each costs about a tenth of a microsecond, and several times as much in a process that
was idle; a server with one model after the other answers in half a millisecond."""
WAYS = ("Sync", "Pools", "Sends", "Gathers")
"""Models that make BLS calls in `execute`, in a pool, in a thread and in coroutines."""


@pytest.fixture(scope="module")
def observed(tmp_path_factory):
    """What the imitated stub executed and passed on, and its recording."""
    folder = tmp_path_factory.mktemp("unrecorded")
    recording = folder / "recording"
    program = "unrecorded_stub.py"
    figures, log = run_stub(write_recorder(folder), folder=recording, program=program)
    assert "" == log
    return figures, blsnb.load_recording(recording)


def test_a_request_that_is_not_recorded_executes_few_functions(observed):
    """Nothing is decided twice, and nothing is wrapped for hooks with nothing to do."""
    found = observed[0]["left out"]["functions"]

    assert ["execute", "begin"] == found[:2]
    assert (True, True) == (len(found) <= CALLS, found.count("call") == 2), found


@pytest.mark.parametrize("kind", ["left out", "recorded", "without traces"])
def test_no_request_is_kept_after_its_answer(observed, kind):
    """Also if `execute` failed or returned a coroutine."""
    assert [] == observed[0][kind]["kept"]


@pytest.mark.parametrize("kind", ["left out", "recorded"])
@pytest.mark.parametrize("model", WAYS)
def test_calls_of_a_traced_request_get_its_trace(observed, kind, model):
    """Whether it is recorded or not; without a trace there is nothing to pass on."""
    figures = observed[0][kind]

    assert (["context of r1.0"], [None]) == (
        figures[f"{model} 1.0"],
        figures[f"{model} 2.0"],
    )


@pytest.mark.parametrize("model", WAYS)
def test_calls_get_no_trace_if_that_is_switched_off(observed, model):
    """The model decides alone."""
    assert [None] == observed[0]["without traces"][f"{model} 1.0"]


def test_a_thread_that_works_for_another_request_is_not_certain(observed):
    """A recorded request started it; its second call is for another one."""
    [run] = observed[1]
    [other] = observed[1].unattributed

    assert [1.0] == [float(span.inputs[0].view()[0]) for span in run.trace.spans[1:]]
    assert [2.0] == [float(ref.view()[0]) for ref in other.trace.spans[0].inputs]


@pytest.mark.parametrize("afterwards", [True, False])
def test_an_execution_beside_one_that_is_not_recorded_is_not_alone(afterwards):
    """One that was opened before it never is, a later one if the other has ended."""
    executions = OpenExecutions(RecorderSettings("folder"), lambda execution: None)
    before = executions.open([RecordedCall("m", 1)])
    assert before.alone
    executions.accompany(afterwards)
    executions.close(before, before.calls[0])
    executions.complete(before)
    later = executions.open([RecordedCall("m", 1)])

    assert (False, not afterwards) == (before.alone, later.alone)
