"""Admission of gRPC calls, and errors in Triton's words for malformed messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc

from blsnb.files.read_budget import ReadLimitError
from blsnb.serving.access import (
    CONFIG,
    HEALTH,
    INFERENCE,
    LOGGING,
    MEMORY,
    METADATA,
    REPOSITORY,
    STATISTICS,
    TRACE,
    Restrictions,
)
from blsnb.serving.grpc.calls import GrpcThreads
from blsnb.serving.grpc.compressed import decompressed

_UNREADABLE = "Unable to parse request"
_SERVING = b"\x08\x01"
"""A ``HealthCheckResponse`` with ``status: SERVING``."""


_CATEGORIES = {
    "/grpc.health.v1.Health/Check": HEALTH,
    **{
        f"/inference.GRPCInferenceService/{name}": category
        for category, names in (
            (HEALTH, "ServerLive ServerReady ModelReady"),
            (METADATA, "ServerMetadata ModelMetadata"),
            (INFERENCE, "ModelInfer ModelStreamInfer"),
            (CONFIG, "ModelConfig"),
            (REPOSITORY, "RepositoryIndex RepositoryModelLoad RepositoryModelUnload"),
            (STATISTICS, "ModelStatistics"),
            (TRACE, "TraceSetting"),
            (LOGGING, "LogSettings"),
            (
                MEMORY,
                "SystemSharedMemoryStatus SystemSharedMemoryRegister "
                "SystemSharedMemoryUnregister CudaSharedMemoryStatus "
                "CudaSharedMemoryRegister CudaSharedMemoryUnregister",
            ),
        )
        for name in names.split()
    },
}
"""The group of protocols of each method."""


class Gate(grpc.ServerInterceptor):  # type: ignore[misc]
    """Admits a call if a thread is free, and decompresses and parses its messages.

    Unknown methods and malformed messages fail with Triton's texts instead of gRPC's.
    """

    def __init__(self, threads: GrpcThreads, restrictions: Restrictions) -> None:
        self._threads = threads
        self._restrictions = restrictions
        self._handlers: dict[str, Any] = {}
        """Handlers of known methods, each made at its first call."""

    def intercept_service(self, continuation: Any, details: Any) -> Any:
        """Return the handler of a call, which gRPC submits next on this thread."""
        if refusal := self._threads.claim(details.method):
            return _refusing(refusal)
        if restricted := self._restricted(details):
            return _refusing(restricted, grpc.StatusCode.UNAVAILABLE)
        handler = self._handlers.get(details.method)
        if handler is None:
            found = continuation(details)
            if found is None:
                return grpc.unary_unary_rpc_method_handler(_unknown)
            handler = self._handlers[details.method] = _guarded(found)
        return handler

    def _restricted(self, details: Any) -> str:
        """Return the error for a call without the header of a restricted protocol.

        References
        ----------
        server: src/grpc/infer_handler.h, InferHandler::ExecutePrecondition
        """
        restriction = self._restrictions.get(_CATEGORIES.get(details.method, ""))
        if restriction is None:
            return ""
        values = dict(details.invocation_metadata or ())
        value = values.get(restriction.header)
        if isinstance(value, str) and restriction.admits(value):
            return ""
        return f"This protocol is restricted, expecting header '{restriction.header}'"


def _guarded(handler: Any) -> Any:
    """Return a handler that also handles malformed messages."""
    parse = _parsing(handler.request_deserializer)
    if handler.response_streaming:
        return handler._replace(request_deserializer=parse)
    behavior = _checked(handler.unary_unary)
    return handler._replace(request_deserializer=parse, unary_unary=behavior)


def _refusing(
    text: str, status: grpc.StatusCode = grpc.StatusCode.RESOURCE_EXHAUSTED
) -> Any:
    """Return a handler that refuses a call before any message is read."""

    def refuse(messages: Any, context: Any) -> None:
        context.abort(status, text)

    return grpc.stream_stream_rpc_method_handler(refuse)


class MalformedMessage:
    """Replaces a message that could not be parsed.

    Parameters
    ----------
    refusal
        Error text of a message that exceeds the memory limit; else empty.
    """

    def __init__(self, refusal: str = "") -> None:
        self.refusal = refusal


def _parsing(parse: Any) -> Callable[[bytes], Any]:
    # protobuf's generated code passes the method of a message class.
    kind = getattr(parse, "__self__", None)
    descriptor = getattr(kind, "DESCRIPTOR", None)

    def parsed(data: bytes) -> Any:
        try:
            message = decompressed(data, descriptor)
            return message if parse is None else parse(message)
        except ReadLimitError as error:
            return MalformedMessage(str(error))
        except Exception:
            return MalformedMessage()

    return parsed


def _checked(behavior: Any) -> Callable[[Any, Any], Any]:
    def checked(request: Any, context: Any) -> Any:
        if isinstance(request, MalformedMessage):
            if request.refusal:
                context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, request.refusal)
            context.abort(grpc.StatusCode.INTERNAL, _UNREADABLE)
        return behavior(request, context)

    return checked


def _unknown(request: bytes, context: Any) -> None:
    context.abort(grpc.StatusCode.UNIMPLEMENTED, "")


def health_handler() -> Any:
    """Return the handler of gRPC's health checks.

    References
    ----------
    server: src/grpc/grpc_server.cc, HealthServer
    """
    check = grpc.unary_unary_rpc_method_handler(lambda request, context: _SERVING)
    return grpc.method_handlers_generic_handler(
        "grpc.health.v1.Health", {"Check": check}
    )
