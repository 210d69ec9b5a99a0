"""Requests and streams for tests of the HTTP end point."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from typing import Any

from cells import CONFIG, cell

WAIT_S = 60.0
DECOUPLED = f"{CONFIG}\nmodel_transaction_policy {{ decoupled: true }}\n"
BODY = {"inputs": [{"name": "X", "shape": [1], "datatype": "FP32", "data": [1]}]}
SLEEPER = cell(
    """
    stage.values["request"] = request
    stage.sleep()
    return [reply(x_of(request))]
    """
)


def head(length: int, path: str = "/v2/models/double/infer") -> bytes:
    """Return the head of a request with a body of this length."""
    lines = (f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {length}")
    return "\r\n".join((*lines, "", "")).encode()


STREAM = """
sender = request.get_response_sender()
for number in range(1000):
    stage.seen.append(number)
    sender.send(reply(x_of(request)))
    while not stage.events[f"go {number}"].wait(0.005):
        if request.is_cancelled():
            stage.events["cancelled"].set()
            break
    if request.is_cancelled():
        break
sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""


@contextlib.contextmanager
def streaming(served: Any) -> Iterator[socket.socket]:
    """A connection that has received the first event of a stream."""
    served.server.define("stream", cell(STREAM), config=DECOUPLED)
    body = b'{"X": [1]}'
    with served.connect() as client:
        path = "/v2/models/stream/generate_stream"
        client.sendall(head(len(body), path) + body)
        found = b""
        while b"\n\n\r\n" not in found:
            found += client.recv(1 << 16)
        yield client
