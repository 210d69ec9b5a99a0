"""GrpcEndpoint: the port on which a server speaks gRPC."""

from __future__ import annotations

import grpc
from tritonclient.grpc import service_pb2_grpc

from blsnb.engine.workers import Workers
from blsnb.inference_server import Server
from blsnb.serving.core.address import address_of
from blsnb.serving.core.limits import most_connections
from blsnb.serving.core.shared_state import SharedState
from blsnb.serving.grpc.gate import Gate, health_handler
from blsnb.serving.grpc.service import GrpcService

_MOST_CALLS = 256
"""So many calls and streams are served at once; those beyond are refused."""
_MOST_REQUESTS = 1024
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
        # Who comes beyond them finds nobody.
        ("grpc.max_allowed_incoming_connections", most_connections()),
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
    """

    def __init__(
        self, server: Server, shared: SharedState, host: str, port: int
    ) -> None:
        self._calls = Workers(_MOST_CALLS, "blsnb grpc")
        self._requests = Workers(_MOST_REQUESTS, "blsnb grpc stream")
        self._service = GrpcService(server, shared, self._requests)
        self._grpc = grpc.server(
            self._calls,
            handlers=(health_handler(),),
            interceptors=(Gate(),),
            options=_options(),
            maximum_concurrent_rpcs=_MOST_CALLS,
        )
        add = service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server
        add(self._service, self._grpc)
        self.host = host
        try:
            self.port = self._bound(host, port)
            self._grpc.start()
        except BaseException:
            self.close(0)
            raise

    def __repr__(self) -> str:
        return f"<GrpcEndpoint {self.address}>"

    @property
    def address(self) -> str:
        """Of the port, as tritonclient takes it: ``"127.0.0.1:8001"``."""
        return address_of(self.host, self.port)

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
        """Take no more calls; those on their way have so many seconds to end."""
        stopped = self._grpc.stop(timeout_s)
        self._service.stop_streams()
        stopped.wait(timeout_s + 1)
        self._requests.shutdown(cancel_futures=True)
        self._calls.shutdown(cancel_futures=True)
