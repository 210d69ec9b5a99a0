"""An OpenTelemetry Collector for tests: it keeps what it receives."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

import waiting


class Received(NamedTuple):
    """One request, with its header ``Content-Type``."""

    path: str
    content_type: str
    body: bytes


class Collector:
    """The requests that it has received, and its answer."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.received: list[Received] = []
        self.status = 200
        self.answer = b"{}"
        self.may_answer = threading.Event()
        self.may_answer.set()

    def wait(self, count: int = 1) -> list[Received]:
        """Return the requests once there are that many."""
        assert waiting.until(lambda: len(self.received) >= count)
        return self.received


@contextmanager
def collecting() -> Iterator[Collector]:
    """Yield a Collector on a free port."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            kind = self.headers["Content-Type"]
            collector.received.append(Received(self.path, kind, body))
            collector.may_answer.wait(waiting.PATIENCE_S)
            self.send_response(collector.status)
            self.send_header("Content-Length", str(len(collector.answer)))
            self.end_headers()
            self.wfile.write(collector.answer)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector = Collector(server.server_port)
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.05}
    )
    thread.start()
    try:
        yield collector
    finally:
        collector.may_answer.set()
        server.shutdown()
        thread.join()
        server.server_close()
