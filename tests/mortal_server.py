"""Mortal: a real server for several tests, which may die in one of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import grpc
from tritonclient.grpc import service_pb2 as wire

from blsnb.parity.triton.server_process import TritonServer

CALL_S = 60


class Mortal:
    """A real server, started again when it has died.

    Parameters
    ----------
    start
        Starts one.
    models
        What it serves.
    """

    def __init__(self, start: Callable[[], TritonServer], *models: str) -> None:
        self._start = start
        self._models = models
        self._server: TritonServer | None = None

    @property
    def address(self) -> str:
        """Where it can be reached now."""
        if self._server is None or not _lives(self._server):
            self.close()
            self._server = self._start()
            for name in self._models:
                request = wire.RepositoryModelLoadRequest(model_name=name)
                self._server.stub.RepositoryModelLoad(request, timeout=CALL_S)
        return f"grpc://127.0.0.1:{self._server.grpc_port}"

    def close(self) -> None:
        """Stop it."""
        if self._server is not None:
            self._server.close()
        self._server = None


def _lives(server: TritonServer) -> bool:
    with contextlib.suppress(grpc.RpcError):
        request = wire.ServerLiveRequest()
        return bool(server.stub.ServerLive(request, timeout=CALL_S).live)
    return False
