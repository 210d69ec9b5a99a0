"""Gate: which calls on the gRPC port are taken, and how the others fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc

from blsnb.files.read_budget import ReadLimitError
from blsnb.serving.grpc.compressed import inflated
from blsnb.serving.grpc.threads import GrpcThreads

_UNREADABLE = "Unable to parse request"


class Gate(grpc.ServerInterceptor):  # type: ignore[misc]
    """Decides which calls are taken.

    What is no request fails in Triton's words, and not in those of gRPC.

    Parameters
    ----------
    threads
        Run the calls.
    """

    def __init__(self, threads: GrpcThreads) -> None:
        self._threads = threads

    def intercept_service(self, continuation: Any, details: Any) -> Any:
        """Return what handles a call; gRPC submits it next, from the same thread."""
        if refusal := self._threads.claim(details.method):
            return _refusing(refusal)
        handler = continuation(details)
        if handler is None:
            return grpc.unary_unary_rpc_method_handler(_unknown)
        parse = _parsing(handler.request_deserializer)
        if handler.response_streaming:
            return handler._replace(request_deserializer=parse)
        behavior = _whole(handler.unary_unary)
        return handler._replace(request_deserializer=parse, unary_unary=behavior)


def _refusing(text: str) -> Any:
    """Return what refuses a call, whatever its kind, before any message is read."""

    def refuse(messages: Any, context: Any) -> None:
        context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, text)

    return grpc.stream_stream_rpc_method_handler(refuse)


class Malformed:
    """Takes the place of a message that could not be read.

    Parameters
    ----------
    refusal
        Why it was refused, where it was not even tried.
    """

    def __init__(self, refusal: str = "") -> None:
        self.refusal = refusal


def _parsing(parse: Any) -> Callable[[bytes], Any]:
    # protobuf's generated code passes a message's own method.
    kind = getattr(parse, "__self__", None)
    descriptor = getattr(kind, "DESCRIPTOR", None)

    def parsed(data: bytes) -> Any:
        try:
            message = inflated(data, descriptor)
            return message if parse is None else parse(message)
        except ReadLimitError as error:
            return Malformed(str(error))
        except Exception:
            return Malformed()

    return parsed


def _whole(behavior: Any) -> Callable[[Any, Any], Any]:
    def checked(asked: Any, context: Any) -> Any:
        if isinstance(asked, Malformed):
            if asked.refusal:
                context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, asked.refusal)
            context.abort(grpc.StatusCode.INTERNAL, _UNREADABLE)
        return behavior(asked, context)

    return checked


def _unknown(asked: bytes, context: Any) -> None:
    context.abort(grpc.StatusCode.UNIMPLEMENTED, "")


def health_handler() -> Any:
    """Return what answers gRPC's own question whether the service is there.

    References
    ----------
    server: src/grpc/grpc_server.cc, HealthServer
    """
    check = grpc.unary_unary_rpc_method_handler(lambda asked, context: _SERVING)
    return grpc.method_handlers_generic_handler(
        "grpc.health.v1.Health", {"Check": check}
    )


_SERVING = b"\x08\x01"
"""A ``HealthCheckResponse`` with ``status: SERVING``."""
