"""A recording of a production server as the source of a calibration."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import pytest
from cells import CONFIG, DOUBLE
from whole_text import whole

from blsnb.errors import BlsnbError
from blsnb.parts.requests import client_request
from blsnb.parts.server_parts import parts_of
from blsnb.planning.calibration import TRITON, Reproduction
from blsnb.planning.simulation.loads import Mix
from blsnb.planning.triton.real_world import RealWorld
from blsnb.planning.triton.recorded import calibrate_recorded
from blsnb.results.run import ImportedRun
from blsnb.trace.capture import trace_of
from blsnb.trace.events import Call, ModelInfo

from ..configs import MS, config

FILE = "recorded.blsnb"


class Recording(NamedTuple):
    """What a recording has for a calibration."""

    runs: Sequence[ImportedRun]
    unattributed: Sequence[ImportedRun] = ()

    def __iter__(self):
        return iter(self.runs)


def called(model, number, times_ms, execution=0, parent=None):
    """Return the record of a request; one without an execution was only sent."""
    call = Call(ModelInfo(model, 1, "python", "cpu", "model", ""), parent, number)
    start, end = (round(ms * MS) for ms in times_ms)
    call.request_start_ns, call.request_end_ns = start, end
    call.ended = True
    if execution:
        call.execution, call.batch = execution, 1
        call.compute_start_ns, call.compute_end_ns = start, end
    return call


def run(*calls, origin=None):
    """Return the run of a recorded request."""
    trace = dataclasses.replace(trace_of("r", calls, 1), file=FILE)
    if origin is not None:
        spans = tuple(dataclasses.replace(each, origin=origin) for each in trace.spans)
        trace = dataclasses.replace(trace, spans=spans)
    return ImportedRun(trace)


def chains(count=20):
    """Return runs of a model that calls another one: 3 ms, a call of 5 ms, 2 ms."""
    found = []
    for number in range(count):
        at = 1_000 + 50 * number
        root = called("chain", 0, (at, at + 10), execution=number + 1)
        child = called("a", 1, (at + 3, at + 8), parent=root)
        found.append(run(root, child))
        executed = (at + 3.5, at + 7.5)
        found.append(run(called("a", 0, executed, execution=number + 1)))
    return found


CONFIGS = {"chain": config("chain"), "a": config("a")}


def test_recordings_without_the_starts_of_executions_are_the_same():
    """Earlier recorders left them out: an execution began with its request."""
    runs = chains()
    without = [
        ImportedRun(
            dataclasses.replace(
                each.trace,
                spans=tuple(
                    dataclasses.replace(span, compute_start_ns=0)
                    for span in each.trace.spans
                ),
            )
        )
        for each in runs
    ]

    found, again = (
        calibrate_recorded(Recording(each), "chain", CONFIGS, {}).models["chain"]
        for each in (runs, without)
    )

    assert found.by_size == again.by_size


def test_a_recording_has_own_work_calls_and_overheads():
    """A call takes a millisecond more than the execution of the called model."""
    found = calibrate_recorded(Recording(chains()), "chain", CONFIGS, {})
    first, last = found.models["chain"].by_size[1][0].steps

    assert TRITON == found.world
    assert (3 * MS, "a") == (first.waiting_ns, first.model)
    assert ((0,), 2 * MS) == (last.after, last.waiting_ns)
    assert 4 * MS == found.models["a"].by_size[1][0].own_ns
    assert 1 * MS == found.models["a"].overhead_ns


def test_a_calibration_of_a_recording_reproduces_it():
    """The requests are simulated at their recorded times: one in 50 ms."""
    (again,) = calibrate_recorded(
        Recording(chains()), "chain", CONFIGS, {}
    ).reproductions

    expected = Reproduction(0, 10_000, 10_000, 20.0, 20.0, recorded=True)
    assert expected == again._replace(simulated_us=10_000)
    assert 0 == pytest.approx(again.error, abs=0.01)


def test_one_recorded_request_has_no_rate():
    """Nothing says when the next one would have come."""
    (again,) = calibrate_recorded(
        Recording(chains(1)), "chain", CONFIGS, {}
    ).reproductions

    assert (0.0, 0.0) == (again.measured_rate, again.simulated_rate)


def test_calls_of_a_batch_belong_to_its_execution():
    """Their request is not known, but their execution is."""
    batch = [called("chain", 0, (1_000, 1_010), execution=7) for _ in range(2)]
    sent = run(
        called("a", 0, (1_003, 1_008)),
        origin={"bls": True, "by": "chain", "execution": 7},
    )
    child = run(called("a", 0, (1_004, 1_007), execution=1))
    recording = Recording([*map(run, batch), child], [sent])
    found = calibrate_recorded(recording, "chain", CONFIGS, {})
    (behaviour,) = found.models["chain"].by_size[2]

    assert ["a", ""] == [step.model for step in behaviour.steps]
    assert 5 * MS == behaviour.own_ns


def test_processor_time_is_given_or_waiting():
    """A recording lacks it, and the calibration says so."""
    runs = chains()
    given = calibrate_recorded(Recording(runs), "chain", CONFIGS, {"a": 1, "chain": 0})
    unknown = calibrate_recorded(Recording(runs), "chain", CONFIGS, {"a": 1})

    assert 4 * MS == given.models["a"].by_size[1][0].computing_ns
    frontend = "What a client's request costs outside of the models was not recorded."
    times = (
        "A recording does not contain processor times: all work of chain counts as "
        "waiting. Pass computing={MODEL: share} for models that compute."
    )
    assert (frontend,) == given.remarks
    assert (frontend, times) == unknown.remarks


def test_a_plan_of_a_recording_observes_no_server(server):
    """Its models have the configurations of this server."""
    for name in CONFIGS:
        server.define(name, DOUBLE, config=CONFIG)
    request = client_request("chain", {"X": [1.0]}, {}, "plan")
    world = RealWorld(parts_of(server), request, recording=Recording(chains()))
    found = world.calibrate(1, 1e-9, Mix())

    assert ["a", "chain"] == list(found.models)
    assert server.config("a") == found.models["a"].config.to_dict()


def test_calls_stand_for_executions_that_were_not_recorded():
    """The calibration names the model, and no other."""
    callers = [each for each in chains() if each.model_name == "chain"]
    found = calibrate_recorded(Recording(callers), "chain", CONFIGS, {})

    assert [5 * MS] * 3 == [each.own_ns for each in found.models["a"].by_size[1]][:3]
    text = (
        "a has no recorded executions: the durations of its calls were used, with "
        "their time in its queue."
    )
    assert text == found.remarks[1]
    assert 1 == sum("no recorded executions" in each for each in found.remarks)


def test_a_model_without_a_configuration_is_refused():
    """The text names it, and what to do."""
    text = (
        "model 'a' was recorded, and this server does not have it; import its "
        "repository first"
    )
    with pytest.raises(BlsnbError, match=whole(text)):
        calibrate_recorded(Recording(chains()), "chain", {"chain": config("chain")}, {})


def test_a_model_without_requests_is_refused():
    """Nothing is known about it."""
    with pytest.raises(BlsnbError, match="no request of model 'b'"):
        calibrate_recorded(Recording(chains()), "b", {"b": config("b")}, {})
