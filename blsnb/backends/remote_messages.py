"""Requests and responses as messages of Triton's gRPC interface."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import grpc
from tritonclient.grpc import service_pb2 as wire

from blsnb.arguments import is_loopback
from blsnb.pb_utils.compiled.errors import CODE_NAMES
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.request_fields import Parameters
from blsnb.tensors.dtypes import BY_DATATYPE
from blsnb.tensors.ref import TensorRef

_CODES = {"INVALID_ARGUMENT": "INVALID_ARG", "UNIMPLEMENTED": "UNSUPPORTED"}
_FINAL = "triton_final_response"
_SIGNED = 2**63
_KINDS = {bool: "bool_param", int: "int64_param", float: "double_param"}


def netloc_of(address: str) -> str:
    """Return host and port of an address such as ``"grpc://localhost:8001"``.

    Raises
    ------
    ValueError
        The address has a different form.
    """
    __tracebackhide__ = True
    parts = urlsplit(address)
    if parts.scheme != "grpc" or not parts.netloc or parts.path.strip("/"):
        raise ValueError(
            f"address {address!r} is not valid; expected one such as "
            "'grpc://localhost:8001'"
        )
    return parts.netloc


def channel_to(netloc: str) -> Any:
    """Return a channel for messages of any size, to this machine without a proxy."""
    options = [
        ("grpc.max_receive_message_length", -1),
        ("grpc.max_send_message_length", -1),
    ]
    if is_loopback(urlsplit(f"//{netloc}").hostname or ""):
        options.append(("grpc.enable_http_proxy", 0))
    return grpc.insecure_channel(netloc, options=options)


def request_of(message: RequestMessage, model_name: str) -> Any:
    """Return the message of a request; the server chooses the model's version."""
    built = wire.ModelInferRequest(model_name=model_name, id=message.fields.request_id)
    for ref in message.inputs:
        tensor = built.inputs.add(name=ref.name, datatype=ref.dtype.datatype)
        tensor.shape.extend(ref.shape)
        built.raw_input_contents.append(bytes(ref.data or b""))
    for name in message.requested_outputs:
        built.outputs.add(name=name)
    fields = message.fields
    for key, value in {**fields.reserved, **dict(fields.parameters)}.items():
        kind = _KINDS.get(type(value), "string_param")
        if type(value) is int and value >= _SIGNED:
            kind = "uint64_param"
        setattr(built.parameters[key], kind, value)
    return built


def response_of(reply: Any) -> ResponseMessage:
    """Return the response in a message."""
    refs = [
        TensorRef(output.name, BY_DATATYPE[output.datatype], tuple(output.shape), data)
        for output, data in zip(reply.outputs, reply.raw_output_contents, strict=True)
    ]
    parameters: Parameters = {
        key: getattr(value, value.WhichOneof("parameter_choice"))
        for key, value in reply.parameters.items()
        if key != _FINAL
    }
    return ResponseMessage(tuple(refs), parameters=parameters)


def is_empty_final(reply: Any) -> bool:
    """Whether a message only marks the end of a stream."""
    return reply.parameters[_FINAL].bool_param and not reply.outputs


def code_of(error: Any) -> str:
    """Return Triton's name of the code of a gRPC error."""
    name = str(error.code().name)
    code = _CODES.get(name, name)
    return code if code in CODE_NAMES else "UNKNOWN"
