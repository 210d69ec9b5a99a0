"""Specification of how responses of a model are recorded."""

from __future__ import annotations

import numpy as np
import pytest
import triton_python_backend_utils as pb_utils

from blsnb.recorder.stub.answers import (
    add_empty_response,
    add_response,
    take_response,
)
from blsnb.recorder.stub.chunk_values import FileNumbers
from blsnb.recorder.stub.executions import (
    DECOUPLED,
    ERROR,
    RecordedCall,
    RecordedExecution,
)
from blsnb.recorder.stub.settings import RecorderSettings

SETTINGS = RecorderSettings("")
BOTH = pb_utils.InferenceResponse(
    [pb_utils.Tensor(name, np.ones(1, np.int8)) for name in "YZ"]
)
FAILED = pb_utils.InferenceResponse(
    error=pb_utils.TritonError("bad", pb_utils.TritonError.NOT_FOUND)
)


@pytest.mark.parametrize(
    ("requested", "expected"), [((), ["Y", "Z"]), (("Z",), ["Z"]), (("A",), [])]
)
def test_only_requested_outputs_are_recorded(requested, expected):
    """The backend removes the others; without names it sends all."""
    call = RecordedCall("m", 1)
    call.requested = requested
    take_response(call, BOTH, SETTINGS)

    assert expected == [row.name for row in call.outputs]
    assert not call.flags & (DECOUPLED | ERROR)


def test_a_failed_response_has_a_text_and_a_code():
    """And no outputs."""
    call = RecordedCall("m", 1)
    take_response(call, FAILED, SETTINGS)

    assert ("bad", "NOT_FOUND", ERROR) == (call.error, call.code, call.flags & ERROR)
    assert not call.outputs


def test_responses_of_a_stream_are_numbered():
    """The error of the call is the first one."""
    call = RecordedCall("m", 1)
    other = pb_utils.InferenceResponse(
        error=pb_utils.TritonError("worse", pb_utils.TritonError.INTERNAL)
    )
    for response in (BOTH, FAILED, other):
        add_response(call, response, SETTINGS)
    add_empty_response(call)

    rows = [(each.number, len(each.outputs), each.error) for each in call.responses]
    assert [(0, 2, ""), (1, 0, "bad"), (2, 0, "worse"), (3, 0, "")] == rows
    assert ("bad", "NOT_FOUND") == (call.error, call.code)
    assert (DECOUPLED | ERROR) == call.flags & (DECOUPLED | ERROR)


class Older:
    """A response of a release before 25.02."""

    has_error, output_tensors = BOTH.has_error, BOTH.output_tensors


@pytest.mark.parametrize("take", [take_response, add_response])
def test_parameters_of_responses_are_recorded(take):
    """Their values may be redacted; older releases have none."""
    said = {"n": 1, "b": True, "TOKEN": "secret"}
    calls = [RecordedCall("m", 1) for _ in range(3)]
    responses = BOTH, pb_utils.InferenceResponse([], parameters=said), Older()
    for call, response in zip(calls, responses, strict=True):
        take(call, response, RecorderSettings("", redact_parameters=("TOK*",)))
    chunks = FileNumbers().chunks([RecordedExecution(calls, True)], {})
    columns = {kind: columns for kind, columns, _ in chunks}
    found = {
        take_response: columns["CALL"].get("response_parameters"),
        add_response: columns.get("RESP", {}).get("parameters"),
    }

    assert [
        [],
        [["n", 1], ["b", True], ["TOKEN", "<redacted>"]],
        [],
    ] == found.pop(take)
    assert [None] == list(found.values())
