"""The port that serves gRPC."""

from __future__ import annotations

import grpc
from tritonclient.grpc import service_pb2_grpc

from blsnb.engine.threads.workers import Workers
from blsnb.errors import OutOfResourcesError
from blsnb.parts.server_parts import ServerParts
from blsnb.serving.core.shared_state import SharedState
from blsnb.serving.grpc.calls import MAX_STREAMS, GrpcThreads
from blsnb.serving.grpc.gate import Gate, health_handler
from blsnb.serving.grpc.service import GrpcService
from blsnb.serving.ports import address_of, is_unix, max_connections

_MAX_CALLS_PER_CONNECTION = 384
"""Maximum number of calls in flight on one connection; the client queues others."""
_MAX_REQUESTS = 1024
"""Maximum number of requests of streams in flight; one model gets at most half."""
_IDLE_MS = 60_000
"""Milliseconds after which an idle connection is closed; clients reconnect."""
_MAX_MESSAGE_BYTES = 2**31 - 1
"""Maximum size of a message, as of protobuf and Triton."""


def _options() -> list[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
        ("grpc.max_send_message_length", _MAX_MESSAGE_BYTES),
        # The gate decompresses messages, within a limit that gRPC does not have.
        ("grpc.per_message_decompression", 0),
        # Otherwise two servers could share a port, each with half of the calls.
        ("grpc.so_reuseport", 0),
        # At the limit new connections are refused, so idle ones must not stay.
        ("grpc.max_allowed_incoming_connections", max_connections()),
        ("grpc.max_connection_idle_ms", _IDLE_MS),
        ("grpc.max_concurrent_streams", _MAX_CALLS_PER_CONNECTION),
    ]


class GrpcEndpoint:
    """Serves KServe's gRPC protocol until it is closed."""

    def __init__(
        self, parts: ServerParts, shared: SharedState, host: str, port: int
    ) -> None:
        self._calls = GrpcThreads()
        self._requests = Workers(_MAX_REQUESTS, "blsnb grpc request")
        self._readers = Workers(MAX_STREAMS, "blsnb grpc reader")
        self._service = GrpcService(parts, shared, self._requests, self._readers)
        self._grpc = grpc.server(
            self._calls,
            handlers=(health_handler(),),
            interceptors=(Gate(self._calls, shared.access.grpc_restricted),),
            options=[*_options(), *shared.options.grpc_channel],
        )
        self._is_started = False
        add = service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server
        add(self._service, self._grpc)
        self.host = host
        try:
            self.port = self._bind(host, port)
            self._start()
        except BaseException:
            self.close(0)
            raise

    @property
    def address(self) -> str:
        """Host and port in the form that tritonclient needs: ``"127.0.0.1:8001"``."""
        return address_of(self.host, self.port)

    def _start(self) -> None:
        try:
            self._grpc.start()
        except (RuntimeError, MemoryError) as error:
            raise OutOfResourcesError(f"gRPC cannot start: {error}") from error
        self._is_started = True

    def _bind(self, host: str, port: int) -> int:
        address = address_of(host, port)
        try:
            bound = int(self._grpc.add_insecure_port(address))
        except RuntimeError:
            bound = 0
        if not bound:
            raise OSError(f"gRPC cannot listen on {address}")
        # gRPC numbers Unix sockets with 1.
        return 0 if is_unix(host) else bound

    def close(self, timeout_s: float) -> None:
        """Accept no more calls, and wait up to a timeout for those in flight."""
        try:
            self._stop(timeout_s)
        finally:
            for pool in (self._requests, self._readers, self._calls):
                pool.shutdown(cancel_futures=True)

    def _stop(self, timeout_s: float) -> None:
        try:
            stopped = self._grpc.stop(timeout_s)
        except (RuntimeError, MemoryError):
            # No thread can wait for the calls, so they end now.
            stopped = self._grpc.stop(None) if self._is_started else None
        self._service.stop_streams()
        if stopped is not None and self._is_started:
            stopped.wait(timeout_s + 1)
