"""Runs of a real server: its trace, completed with exact values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from blsnb.parity.real_run import real_run
from blsnb.parity.triton.outcome import ClientFailure, ClientOutcome, ClientResponse
from blsnb.pb_utils.message import RequestMessage
from blsnb.request_fields import RequestFields
from blsnb.results.run import ImportedRun
from blsnb.tensors.convert import to_ref
from blsnb.trace.capture import trace_of
from blsnb.trace.events import Call, CallFlag, ModelInfo
from blsnb.trace.spans import Trace

BEGAN = 1_000


def ref(name: str, value) -> object:
    """Return a frozen tensor."""
    return to_ref(name, np.asarray(value, np.float32), None, 0)


def trace(start_ns: int, *values: float) -> Trace:
    """Return a trace of a model that calls another one, with these values."""
    calls: list[Call] = []
    for name, value in zip(("outer", "inner"), values, strict=True):
        model = ModelInfo(name, 1, "", "", "model", "")
        call = Call(model, calls[0] if calls else None, len(calls))
        call.request_start_ns, call.request_end_ns = start_ns, start_ns + 10
        call.inputs, call.outputs = (ref("X", [value]),), (ref("Y", [value]),)
        calls.append(call)
    return trace_of("t", calls, start_ns + 10)


def outcome(*responses: ClientResponse) -> ClientOutcome:
    """Return an outcome from 1000 to 2000 ns."""
    return ClientOutcome(responses, 1_000, BEGAN)


MESSAGE = RequestMessage("outer", (ref("X", [1 / 3]),))
OUTCOME = outcome(ClientResponse((ref("Y", [2 / 3]),)))


def values(run) -> list[list[float]]:
    """Return the input and output values of each call."""
    return [
        [float(each.view()[0]) for each in (*span.inputs, *span.outputs)]
        for span in run.trace.spans
    ]


def test_the_trace_is_identified_by_its_time():
    """Earlier and later traces belong to other requests."""
    traces = [trace(at, 0.5, 0.5) for at in (500, 1_500, 2_500)]
    run = real_run(MESSAGE, OUTCOME, traces, None)

    assert 1_500 == run.trace.start_ns
    assert np.float32([1 / 3, 2 / 3]).tolist() == values(run)[0]


@pytest.mark.parametrize(
    ("start_ns", "name", "found"),
    [
        (999, "outer", False),
        (1_000, "outer", True),
        (2_000, "outer", True),
        (2_001, "outer", False),
        (1_500, "other", False),
    ],
)
def test_the_trace_began_while_its_request_ran(start_ns, name, found):
    """It has the name of the model."""
    message = RequestMessage(name, MESSAGE.inputs)
    run = real_run(message, OUTCOME, [trace(start_ns, 0.5, 0.5)], None)

    assert found is (not run.trace.remarks)


@pytest.mark.parametrize(
    ("responses", "flags"),
    [
        ((), 0),
        ((ClientResponse((ref("Y", [2 / 3]),), parameters={"k": 1}),), 0),
        ((ClientResponse(final=False), ClientResponse()), CallFlag.DECOUPLED),
    ],
)
def test_without_a_trace_the_times_are_those_of_the_client(responses, flags):
    """A remark of the run says so; several responses are those of a decoupled model."""
    message = RequestMessage("outer", MESSAGE.inputs, fields=RequestFields(version=3))
    run = real_run(message, outcome(*responses), [], None)
    [span] = run.trace.spans

    assert (BEGAN, BEGAN + 1_000, flags, message.fields) == (
        span.request_start_ns,
        span.request_end_ns,
        span.flags,
        span.request_fields,
    )
    assert [("outer", 3, "model")] == [
        (model.name, model.version, model.kind) for model in run.trace.models
    ]
    assert (
        "No trace of the real server: the times were measured by its client.",
    ) == run.trace.remarks
    first = responses[0] if responses else ClientResponse()
    assert (first.outputs, tuple(first.parameters.items())) == (
        span.outputs,
        span.response_parameters,
    )
    assert len(responses) == len(run.responses)


@pytest.mark.parametrize(("there", "same"), [(0.333333, True), (0.33334, False)])
def test_a_rounded_value_is_replaced_by_the_exact_one(there, same):
    """Floats of a trace file have six digits."""
    third = float(np.float32(1 / 3))
    ours = ImportedRun(trace(9, third, third))
    run = real_run(MESSAGE, OUTCOME, [trace(1_500, 0.5, there)], ours)

    assert same is ([third, third] == values(run)[1])


@pytest.mark.parametrize(
    ("there", "here"),
    [
        (np.int32([5]), np.int32([6])),
        (np.float32([0.5]), np.float32([0.5, 0.5])),
        (np.float32([0.5]), np.float64([0.5])),
    ],
)
def test_a_value_that_no_rounding_explains_stays(there, here):
    """It is an integer, or has another shape or datatype."""

    def traced(start_ns, value):
        found = trace(start_ns, 0.5, 0.5)
        outputs = (to_ref("Y", value, None, 0),)
        inner = replace(found.spans[1], outputs=outputs)
        return replace(found, spans=(found.spans[0], inner))

    ours = ImportedRun(traced(9, here))
    run = real_run(MESSAGE, OUTCOME, [traced(1_500, there)], ours)

    [output] = run.trace.spans[1].outputs
    assert (there.dtype, there.tolist()) == (
        output.view().dtype,
        output.view().tolist(),
    )


def test_an_error_is_added_to_the_trace():
    """A trace file contains no errors."""
    failed = outcome(ClientResponse(failure=ClientFailure("INTERNAL", "oh")))
    run = real_run(MESSAGE, failed, [trace(1_500, 0.5, 0.5)], None)

    root = run.trace.spans[0]
    assert ("oh", "INTERNAL", "oh") == (root.error, root.error_code, run.error)
    assert root.flags & CallFlag.ERROR
    assert () == root.outputs


def test_responses_of_a_stream_have_the_times_of_the_trace():
    """An empty final response has the time of the client."""
    traced = trace(1_500, 0.5, 0.5)
    ours = ImportedRun(
        replace(
            traced,
            spans=(replace(traced.spans[0], response_count=2), *traced.spans[1:]),
        )
    )
    streamed = outcome(
        ClientResponse((ref("Y", [1]),), final=False, at_ns=100),
        ClientResponse(at_ns=300),
    )
    run = real_run(MESSAGE, streamed, [traced], ours)

    root = run.trace.spans[0]
    assert [(1_100, 1, 0), (1_300, 0, 1)] == [
        (each.ns, len(each.outputs), each.number) for each in root.responses
    ]
    assert (2, 2) == (root.response_count, len(run.responses))
