"""A real server for several tests, restarted after a crash."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import grpc
from tritonclient.grpc import service_pb2 as wire

from blsnb.parity.triton.server_process import TritonServer

CALL_S = 60


class RestartingServer:
    """A real server, restarted after a crash.

    Parameters
    ----------
    start
        Returns a new server.
    models
        Names of the models to load.
    """

    def __init__(self, start: Callable[[], TritonServer], *models: str) -> None:
        self._start = start
        self._models = models
        self._server: TritonServer | None = None

    @property
    def address(self) -> str:
        """The current gRPC address."""
        if self._server is None or not _is_live(self._server):
            self.close()
            self._server = self._start()
            for name in self._models:
                request = wire.RepositoryModelLoadRequest(model_name=name)
                self._server.stub.RepositoryModelLoad(request, timeout=CALL_S)
        return f"grpc://127.0.0.1:{self._server.grpc_port}"

    def close(self) -> None:
        """Stop the server."""
        if self._server is not None:
            self._server.close()
        self._server = None


def _is_live(server: TritonServer) -> bool:
    with contextlib.suppress(grpc.RpcError):
        request = wire.ServerLiveRequest()
        return bool(server.stub.ServerLive(request, timeout=CALL_S).live)
    return False
