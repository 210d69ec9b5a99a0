"""Servers behind an HTTP end point, for tests."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from blsnb.inference_server import Server
from blsnb.parts.server_parts import parts_of
from blsnb.serving.access import Access
from blsnb.serving.core.shared_state import SharedState
from blsnb.serving.http.endpoint import HttpEndpoint

CALL_S = 60.0


class HttpServed:
    """A server behind its HTTP end point."""

    def __init__(self, server: Server) -> None:
        self.server = server
        access = Access(allow_load_files=True)
        self.shared = SharedState(parts_of(server), access)
        self.end = HttpEndpoint(parts_of(server), self.shared, "127.0.0.1", 0)

    def connect(self) -> socket.socket:
        """Return a new connection."""
        return socket.create_connection(("127.0.0.1", self.end.port), timeout=CALL_S)

    def ask(
        self, path: str, body: Any = None, verb: str = "", **headers: str
    ) -> tuple[int, Any]:
        """Return the status, and the JSON value or the bytes of the body."""
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        verb = verb or ("GET" if body is None else "POST")
        client = http.client.HTTPConnection("127.0.0.1", self.end.port, timeout=CALL_S)
        try:
            named = {name.replace("_", "-"): each for name, each in headers.items()}
            client.request(verb, path, body, named)
            reply = client.getresponse()
            data = reply.read()
        finally:
            client.close()
        try:
            return reply.status, json.loads(data.decode("utf-8", "replace"))
        except ValueError:
            return reply.status, data

    def infer(self, model: str, values: list[float], **more: Any) -> tuple[int, Any]:
        """Send a request with the input X."""
        return self.ask(f"/v2/models/{model}/infer", body_of(values, **more))

    def close(self) -> None:
        """Close the end point."""
        self.end.close(1)
        self.shared.close()


def body_of(values: list[float], **more: Any) -> dict[str, Any]:
    """Return the body of a request with the input X."""
    shape = [len(values)]
    given = {"name": "X", "shape": shape, "datatype": "FP32", "data": values}
    return {"inputs": [given], **more}


@pytest.fixture
def http_served(server: Server) -> Iterator[HttpServed]:
    """A server without models, behind HTTP."""
    served = HttpServed(server)
    try:
        yield served
    finally:
        served.close()
