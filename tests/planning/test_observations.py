"""Times of the executions in traces: of models, of streams, and of ensembles."""

from __future__ import annotations

import pytest

from blsnb.planning.observations import observe, reached
from blsnb.trace.capture import trace_of
from blsnb.trace.events import Call, CallFlag, ModelInfo

REQUEST_NS = (1_000, 1_100)
QUEUE_NS = 1_005
COMPUTE_NS = (1_020, 1_070)


def request(backend: str, flags: int = 0) -> Call:
    """Return the record of a request of a model."""
    call = Call(ModelInfo("m", 1, backend, "cpu", "model", ""), None, 0)
    call.request_start_ns, call.request_end_ns = REQUEST_NS
    call.flags, call.ended = flags, True
    if not call.model.is_ensemble:
        call.queue_start_ns = QUEUE_NS
        call.compute_start_ns, call.compute_end_ns = COMPUTE_NS
        call.execution, call.batch = 1, 1
    return call


@pytest.mark.parametrize(
    ("call", "duration_ns", "overhead_ns"),
    [
        (request("python"), 50, 5 + 30),
        (request("python", CallFlag.DECOUPLED), 80, 5),
        (request("ensemble"), 100, 0),
    ],
    ids=["model", "stream", "ensemble"],
)
def test_an_execution_is_timed(call, duration_ns, overhead_ns):
    """A stream ends with its request; an ensemble has no execution but its request."""
    found = observe([trace_of("r", [call], 2_000)], {})["m"]

    assert ([duration_ns], [overhead_ns]) == (found.durations_ns, found.overheads_ns)


@pytest.mark.parametrize(
    "facts", [{"error": "no"}, {"compute_end_ns": 0, "request_end_ns": 0}]
)
@pytest.mark.parametrize("backend", ["python", "ensemble"])
def test_what_did_not_end_well_is_no_execution(backend, facts):
    """A call may have failed, or may still be running."""
    call = request(backend)
    for name, value in facts.items():
        setattr(call, name, value)
    call.ended = "error" in facts

    assert {} == observe([trace_of("r", [call], 2_000)], {})


def test_requests_reach_models_and_no_spans():
    """Model code may open spans of its own."""
    calls = [request("python"), request("python")]
    calls[1].model = calls[1].model._replace(name="s", kind="span")

    assert ["m"] == reached([trace_of("r", calls, 2_000)])
