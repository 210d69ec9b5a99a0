"""Messages of responses over gRPC, and the status of errors."""

from __future__ import annotations

import logging
from typing import Any

import grpc
from tritonclient.grpc import service_pb2 as wire

from blsnb.engine.request.validation import RequestError
from blsnb.errors import (
    OUT_OF_RESOURCES,
    InferenceError,
    ModelLoadError,
    ServerClosedError,
)
from blsnb.serving.core.parameters import until_nul
from blsnb.serving.core.requests import STOPPING
from blsnb.serving.core.shortage import shortage_of
from blsnb.serving.core.wire import WireResponse

_log = logging.getLogger("blsnb.serving")
_FINAL = "triton_final_response"
_STATUSES = {
    "INVALID_ARG": grpc.StatusCode.INVALID_ARGUMENT,
    "NOT_FOUND": grpc.StatusCode.NOT_FOUND,
    "UNAVAILABLE": grpc.StatusCode.UNAVAILABLE,
    "UNSUPPORTED": grpc.StatusCode.UNIMPLEMENTED,
    "UNKNOWN": grpc.StatusCode.UNKNOWN,
    "ALREADY_EXISTS": grpc.StatusCode.ALREADY_EXISTS,
    "CANCELLED": grpc.StatusCode.CANCELLED,
    OUT_OF_RESOURCES: grpc.StatusCode.RESOURCE_EXHAUSTED,
}
_KINDS = {bool: "bool_param", int: "int64_param", float: "double_param"}


def status_of(error: BaseException) -> tuple[grpc.StatusCode, str]:
    """Return the status and the details of a failed call.

    References
    ----------
    server: src/grpc/grpc_utils.cc, GrpcStatusUtil::Create
    """
    if isinstance(error, ServerClosedError):
        return grpc.StatusCode.UNAVAILABLE, STOPPING
    if isinstance(error, RequestError | InferenceError | ModelLoadError):
        status = _STATUSES.get(error.code, grpc.StatusCode.INTERNAL)
        # Triton passes its texts on as C strings.
        return status, until_nul(error.message)
    if (shortage := shortage_of(error)) is not None:
        return grpc.StatusCode.RESOURCE_EXHAUSTED, shortage.message
    _log.error("a call over gRPC failed", exc_info=error)
    return grpc.StatusCode.INTERNAL, repr(error)


def reply_of(response: WireResponse) -> Any:
    """Return the message of a response; outputs in shared memory have no elements.

    As on Triton, the first of several outputs of one name has the dimensions of all,
    and the type of the last; the others have none.

    References
    ----------
    server: src/grpc/infer_handler.cc, InferResponseCompleteCommon
    """
    reply = wire.ModelInferResponse(
        model_name=response.model_name,
        model_version=response.model_version,
        id=response.id,
    )
    for name, value in response.parameters.items():
        kind = _KINDS.get(type(value), "string_param")
        setattr(reply.parameters[name], kind, value)
    described: dict[str, Any] = {}
    for tensor in response.outputs:
        added = reply.outputs.add(name=tensor.name)
        output = described.setdefault(tensor.name, added)
        output.datatype = tensor.datatype
        output.shape.extend(tensor.shape)
        reply.raw_output_contents.append(bytes(tensor.data))
    return reply


def stream_reply_of(response: WireResponse) -> Any:
    """Return the message of a response on a stream.

    A final flag without outputs and an error have no version. Triton compares the
    outputs with those of the response that it created to search the cache.

    References
    ----------
    server: issue 4362
    """
    error = response.error
    if response.missed and response.outputs:
        error = "response output count mismatch"
    if response.final_only or error is not None:
        reply = wire.ModelInferResponse(model_name=response.model_name, id=response.id)
    else:
        reply = reply_of(response)
    reply.parameters[_FINAL].bool_param = response.final
    return wire.ModelStreamInferResponse(
        error_message=error or "", infer_response=reply
    )


def stream_error_of(request_id: str, error: BaseException) -> Any:
    """Return the message of a request on a stream that no model receives."""
    return wire.ModelStreamInferResponse(
        error_message=status_of(error)[1],
        infer_response=wire.ModelInferResponse(id=request_id),
    )
