"""The real server's run: its trace, with the values that are known better."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from blsnb.parity.real_run import real_run
from blsnb.parity.triton.answers import Answer, Answers, Failure
from blsnb.pb_utils.message import RequestMessage
from blsnb.run import ImportedRun
from blsnb.tensors.convert import to_ref
from blsnb.trace.capture import trace_of
from blsnb.trace.events import Call, CallFlag, ModelInfo
from blsnb.trace.spans import Trace

BEGAN = 1_000


def ref(name: str, value) -> object:
    """Return a frozen tensor."""
    return to_ref(name, np.asarray(value, np.float32), None, 0)


def trace(start_ns: int, *values: float) -> Trace:
    """Return a trace of a model that has called another one, with these values."""
    calls: list[Call] = []
    for name, value in zip(("outer", "inner"), values, strict=True):
        model = ModelInfo(name, 1, "", "", "model", "")
        call = Call(model, calls[0] if calls else None, len(calls))
        call.request_start_ns, call.request_end_ns = start_ns, start_ns + 10
        call.inputs, call.outputs = (ref("X", [value]),), (ref("Y", [value]),)
        calls.append(call)
    return trace_of("t", calls, start_ns + 10)


def answers(*responses: Answer) -> Answers:
    """Return what a client was answered, from 1000 to 2000 ns."""
    return Answers(responses, 1_000, BEGAN)


MESSAGE = RequestMessage("outer", (ref("X", [1 / 3]),))
ANSWERED = answers(Answer((ref("Y", [2 / 3]),)))


def values(run) -> list[list[float]]:
    """Return the values of its calls."""
    return [
        [float(each.view()[0]) for each in (*span.inputs, *span.outputs)]
        for span in run.trace.spans
    ]


def test_the_trace_is_found_by_its_time():
    """Before and after are those of other requests."""
    traces = [trace(at, 0.5, 0.5) for at in (500, 1_500, 2_500)]
    run = real_run(MESSAGE, ANSWERED, traces, None)

    assert 1_500 == run.trace.start_ns
    assert np.float32([1 / 3, 2 / 3]).tolist() == values(run)[0]


def test_without_one_there_is_what_the_client_saw():
    """And the run says so."""
    run = real_run(MESSAGE, ANSWERED, [], None)

    assert [(BEGAN, BEGAN + 1_000)] == [
        (span.request_start_ns, span.request_end_ns) for span in run.trace.spans
    ]
    assert "its client" in run.trace.remarks[0]
    assert np.float32([2 / 3]) == run["Y"]


@pytest.mark.parametrize(("there", "same"), [(0.333333, True), (0.33334, False)])
def test_a_value_that_differs_by_the_digits_of_a_file_is_taken_for_ours(there, same):
    """A trace file has six."""
    third = float(np.float32(1 / 3))
    ours = ImportedRun(trace(9, third, third))
    run = real_run(MESSAGE, ANSWERED, [trace(1_500, 0.5, there)], ours)

    assert same is ([third, third] == values(run)[1])


def test_a_failure_is_put_in():
    """A trace file has none."""
    failed = answers(Answer(failure=Failure("INTERNAL", "oh")))
    run = real_run(MESSAGE, failed, [trace(1_500, 0.5, 0.5)], None)

    root = run.trace.spans[0]
    assert ("oh", "INTERNAL", "oh") == (root.error, root.error_code, run.error)
    assert root.flags & CallFlag.ERROR
    assert () == root.outputs


def test_responses_of_a_stream_have_the_times_of_the_trace():
    """A final flag that was sent alone is known from the client alone."""
    traced = trace(1_500, 0.5, 0.5)
    ours = ImportedRun(
        replace(
            traced,
            spans=(replace(traced.spans[0], response_count=2), *traced.spans[1:]),
        )
    )
    streamed = answers(
        Answer((ref("Y", [1]),), final=False, at_ns=100), Answer(at_ns=300)
    )
    run = real_run(MESSAGE, streamed, [traced], ours)

    root = run.trace.spans[0]
    assert [(1_100, 1, 0), (1_300, 0, 1)] == [
        (each.ns, len(each.outputs), each.number) for each in root.responses
    ]
    assert (2, 2) == (root.response_count, len(run.responses))
