"""Messages of responses and errors, alone and on a stream."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from tritonclient.grpc import service_pb2 as wire

from blsnb.engine.request.validation import RequestError
from blsnb.errors import OUT_OF_RESOURCES, InferenceError, ServerClosedError
from blsnb.serving.core.requests import STOPPING
from blsnb.serving.core.wire import WireResponse, WireTensor
from blsnb.serving.grpc.responses import (
    reply_of,
    status_of,
    stream_error_of,
    stream_reply_of,
)

Y = WireTensor("Y", "INT8", (2, 1), b"ab")
FINAL = "triton_final_response"


def response(**fields: Any) -> WireResponse:
    """Return a response of version 3 of a model."""
    return WireResponse("m", "3", "q", **fields)


def test_a_response_has_typed_parameters_and_raw_outputs() -> None:
    """Its id and the version that ran are included."""
    parameters = {"s": "text", "b": True, "n": -1}
    reply = reply_of(response(outputs=(Y,), parameters=parameters))

    expected = wire.ModelInferResponse(model_name="m", model_version="3", id="q")
    expected.parameters["s"].string_param = "text"
    expected.parameters["b"].bool_param = True
    expected.parameters["n"].int64_param = -1
    expected.outputs.add(name="Y", datatype="INT8", shape=[2, 1])
    expected.raw_output_contents.append(b"ab")
    assert expected == reply


@pytest.mark.parametrize(
    ("given", "error", "version"),
    [
        ({"outputs": (Y,)}, "", "3"),
        ({"outputs": (Y,), "final": False}, "", "3"),
        ({"final_only": True}, "", ""),
        ({"error": "bad"}, "bad", ""),
        ({"error": ""}, "", ""),
        ({"outputs": (Y,), "missed": True}, "response output count mismatch", ""),
        ({"missed": True}, "", "3"),
    ],
)
def test_a_response_on_a_stream_has_a_final_flag(
    given: dict[str, object], error: str, version: str
) -> None:
    """A final flag without outputs and an error have no version."""
    found = stream_reply_of(response(**given))
    reply = found.infer_response

    assert (error, "m", version, "q") == (
        found.error_message,
        reply.model_name,
        reply.model_version,
        reply.id,
    )
    assert given.get("final", True) is reply.parameters[FINAL].bool_param
    assert bool(version and given.get("outputs")) is bool(reply.raw_output_contents)


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (RequestError("a\0b", "INVALID_ARG"), "INVALID_ARGUMENT", "a"),
        (RequestError("a", "NOT_FOUND"), "NOT_FOUND", "a"),
        (RequestError("a", "UNAVAILABLE"), "UNAVAILABLE", "a"),
        (RequestError("a", "UNSUPPORTED"), "UNIMPLEMENTED", "a"),
        (RequestError("a", "UNKNOWN"), "UNKNOWN", "a"),
        (RequestError("a", "ALREADY_EXISTS"), "ALREADY_EXISTS", "a"),
        (InferenceError("a", "CANCELLED"), "CANCELLED", "a"),
        (RequestError("a", OUT_OF_RESOURCES), "RESOURCE_EXHAUSTED", "a"),
        (RequestError("a", "INTERNAL"), "INTERNAL", "a"),
        (ServerClosedError("a"), "UNAVAILABLE", STOPPING),
        (MemoryError(), "RESOURCE_EXHAUSTED", "the server is out of memory"),
        (ZeroDivisionError("a"), "INTERNAL", "ZeroDivisionError('a')"),
    ],
)
def test_an_error_has_a_status(
    caplog: pytest.LogCaptureFixture, error: BaseException, status: str, text: str
) -> None:
    """A text ends at its first NUL; one that is not expected is logged."""
    assert (grpc.StatusCode[status], text) == status_of(error)
    on_stream = stream_error_of("q", error)
    expected = wire.ModelInferResponse(id="q")

    assert (text, expected) == (on_stream.error_message, on_stream.infer_response)
    logged = isinstance(error, ZeroDivisionError)
    assert ["a call over gRPC failed"] * 2 * logged == caplog.messages
