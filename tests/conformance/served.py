"""Targets as clients of a network reach them: by an address."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import grpc
from google.protobuf import json_format
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

from blsnb.serving.access import Access
from blsnb.serving.endpoints import Endpoints, serve

from .targets import Target

CALL_S = 120.0
_endpoints: dict[int, Endpoints] = {}
_lock = threading.Lock()


def endpoints(target: Target) -> Endpoints:
    """Return where the blsnb server of a target can be reached; it stays open."""
    # Each kind of target has its own, of which the protocol does not speak.
    server: Any = target.server  # type: ignore[attr-defined]
    with _lock:
        found = _endpoints.get(id(server))
        if found is None or found.closed:
            access = Access(allow_load_files=True)
            found = serve(server, http=0, grpc=0, metrics=None, access=access)
            _endpoints[id(server)] = found
    return found


def grpc_address(target: Target) -> str:
    """Return host and port of a target's gRPC."""
    if target.name == "blsnb":
        return endpoints(target).addresses["gRPC"]
    return f"127.0.0.1:{target.server.grpc_port}"  # type: ignore[attr-defined]


class Line:
    """A connection to a target, with results as plain values.

    Parameters
    ----------
    target
        Which server.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        options = [("grpc.max_receive_message_length", -1)]
        self.channel = grpc.insecure_channel(grpc_address(target), options=options)
        self.stub = service_pb2_grpc.GRPCInferenceServiceStub(self.channel)

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        self.channel.close()

    def call(self, method: str, request: Any) -> Any:
        """Call a method; return its response, or code and text of the error."""
        return self.said(lambda: getattr(self.stub, method)(request, timeout=CALL_S))

    def said(self, call: Callable[[], Any]) -> Any:
        """Return the result of a call as JSON values."""
        try:
            return self.plain(call())
        except grpc.RpcError as error:
            text = self._target.normalised(error.details() or "")
            return [error.code().name, text]

    def stream(self, *requests: pb.ModelInferRequest) -> list[Any]:
        """Send requests on a stream; return all responses."""
        replies = self.stub.ModelStreamInfer(iter(requests), timeout=CALL_S)
        return self.said(lambda: [self.plain(reply) for reply in replies])

    def plain(self, message: Any) -> Any:
        """Return a message as JSON can keep it."""
        if not hasattr(message, "DESCRIPTOR"):
            return message
        found = json_format.MessageToDict(message, preserving_proto_field_name=True)
        return json.loads(self._target.normalised(json.dumps(found)))


def request(
    model: str,
    shape: tuple[int, ...] = (),
    raw: bytes | None = b"",
    datatype: str = "FP32",
    outputs: dict[str, dict[str, Any]] | None = None,
    parameters: dict[str, Any] | None = None,
    of_input: dict[str, Any] | None = None,
    contents: dict[str, list[Any]] | None = None,
    **fields: str,
) -> pb.ModelInferRequest:
    """Return an unvalidated request with one input X.

    Parameters
    ----------
    raw
        Its bytes; None for none.
    outputs
        The requested outputs, each with its parameters.
    of_input
        Parameters of the input.
    contents
        Elements by field.
    fields
        ``id`` and ``model_version``.
    """
    built = pb.ModelInferRequest(model_name=model, **fields)
    tensor = built.inputs.add(name="X", datatype=datatype)
    tensor.shape.extend(shape)
    for name, elements in (contents or {}).items():
        tensor.contents.SetInParent()
        getattr(tensor.contents, name).extend(elements)
    if raw is not None:
        built.raw_input_contents.append(raw)
    for name, given in (outputs or {}).items():
        put_all(built.outputs.add(name=name).parameters, given)
    put_all(tensor.parameters, of_input or {})
    put_all(built.parameters, parameters or {})
    return built


def put_all(parameters: Any, given: dict[str, Any]) -> None:
    """Store parameters in the field of their Python type.

    A pair names the field itself, and None is a parameter without a value.
    """
    for name, value in given.items():
        found = parameters[name]
        match value:
            case None:
                found.SetInParent()
            case (kind, inner):
                setattr(found, kind, inner)
            case bool():
                found.bool_param = value
            case int():
                found.int64_param = value
            case float():
                found.double_param = value
            case bytes():
                found.bytes_param = value
            case _:
                found.string_param = value
