"""GrpcEndpoint: the port on which a server speaks gRPC."""

from __future__ import annotations

import grpc
from tritonclient.grpc import service_pb2_grpc

from blsnb.engine.threads.workers import Workers
from blsnb.errors import OutOfResourcesError
from blsnb.parts.server_parts import ServerParts
from blsnb.serving.core.ports import address_of, max_connections
from blsnb.serving.core.shared_state import SharedState
from blsnb.serving.grpc.gate import Gate, health_handler
from blsnb.serving.grpc.service import GrpcService
from blsnb.serving.grpc.threads import MOST_STREAMS, GrpcThreads

_MOST_PER_CONNECTION = 384
"""Maximum number of calls in flight on one connection; its client keeps the others."""
_MOST_REQUESTS = 1024
"""Maximum number of requests of streams in flight; one model gets half of them."""
_IDLE_MS = 60_000
"""Milliseconds after which an idle connection is closed; clients open it anew."""
_LARGEST = 2**31 - 1
"""No message may be larger: that is protobuf's own limit, and Triton's."""


def _options() -> list[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", _LARGEST),
        ("grpc.max_send_message_length", _LARGEST),
        # The gate inflates messages, within a limit that gRPC does not have.
        ("grpc.per_message_decompression", 0),
        # Else two servers would share a port, each with half of the calls.
        ("grpc.so_reuseport", 0),
        # Further ones are refused, so idle ones must not stay.
        ("grpc.max_allowed_incoming_connections", max_connections()),
        ("grpc.max_connection_idle_ms", _IDLE_MS),
        ("grpc.max_concurrent_streams", _MOST_PER_CONNECTION),
    ]


class GrpcEndpoint:
    """Serves gRPC until it is closed.

    Parameters
    ----------
    server
        Where the models are.
    shared
        What all end points of the server keep.
    host
        The address to listen on.
    port
        0 for one that is free.

    Raises
    ------
    OSError
        The port cannot be had.
    OutOfResourcesError
        No thread is left for it.
    """

    def __init__(
        self, server: ServerParts, shared: SharedState, host: str, port: int
    ) -> None:
        self._calls = GrpcThreads()
        self._requests = Workers(_MOST_REQUESTS, "blsnb grpc request")
        self._readers = Workers(MOST_STREAMS, "blsnb grpc reader")
        self._service = GrpcService(server, shared, self._requests, self._readers)
        self._grpc = grpc.server(
            self._calls,
            handlers=(health_handler(),),
            interceptors=(Gate(self._calls),),
            options=_options(),
        )
        self._is_started = False
        add = service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server
        add(self._service, self._grpc)
        self.host = host
        try:
            self.port = self._bound(host, port)
            self._start()
        except BaseException:
            self.close(0)
            raise

    def __repr__(self) -> str:
        return f"<GrpcEndpoint {self.address}>"

    @property
    def address(self) -> str:
        """Of the port, as tritonclient takes it: ``"127.0.0.1:8001"``."""
        return address_of(self.host, self.port)

    def _start(self) -> None:
        try:
            self._grpc.start()
        except (RuntimeError, MemoryError) as error:
            raise OutOfResourcesError(f"gRPC cannot start: {error}") from error
        self._is_started = True

    def _bound(self, host: str, port: int) -> int:
        address = address_of(host, port)
        try:
            bound = int(self._grpc.add_insecure_port(address))
        except RuntimeError:
            bound = 0
        if not bound:
            raise OSError(f"gRPC cannot listen on {address}")
        return bound

    def close(self, timeout_s: float) -> None:
        """Take no more calls, and give those in flight a time to end."""
        try:
            stopped = self._grpc.stop(timeout_s)
        except (RuntimeError, MemoryError):
            # No thread is left that would wait for the time: they end now.
            stopped = self._grpc.stop(None) if self._is_started else None
        self._service.stop_streams()
        if stopped is not None and self._is_started:
            stopped.wait(timeout_s + 1)
        for pool in (self._requests, self._readers, self._calls):
            pool.shutdown(cancel_futures=True)
