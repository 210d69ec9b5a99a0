"""Ports that serve HTTP: the KServe protocol, and the metrics page."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
import time

from tornado.httputil import HTTPConnection, HTTPServerConnectionDelegate

from blsnb.engine.threads.start import new_loop, start
from blsnb.parts.server_parts import ServerParts
from blsnb.serving.access import Access
from blsnb.serving.core.shared_state import SharedState
from blsnb.serving.http.connections.limited_server import HttpServer
from blsnb.serving.http.exchange import MAX_BODY_BYTES, HttpExchange, PortState
from blsnb.serving.http.infer import is_serial
from blsnb.serving.http.plain_connection import PlainConnection
from blsnb.serving.http.routes import (
    Guard,
    HttpRouter,
    HttpThreads,
    http_routes,
    metrics_routes,
)
from blsnb.serving.ports import address_of, is_unix, listening_socket, socket_path

_BACKLOG = 1024
"""Connections that the system queues until they are accepted, as for Triton."""
_CLOSE_S = 2.0
_PATIENCE_S = 3600.0
"""Seconds that a connection may be idle, or a request incomplete."""


class HttpPort(HTTPServerConnectionDelegate):
    """A port whose connections share one thread, so that idle ones need no thread.

    Raises
    ------
    OSError
        The port is not available.
    OutOfResourcesError
        No thread, or no event loop, is left for it.
    """

    def __init__(
        self,
        router: HttpRouter,
        threads: HttpThreads,
        host: str,
        port: int,
        *,
        keeps_headers: bool = False,
    ) -> None:
        self.host = host
        self._threads = threads
        self._timeout_s = 0.0
        self._stop = asyncio.Event()
        self._started = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name=threads.name, daemon=True
        )
        with contextlib.ExitStack() as undo:
            undo.callback(threads.close)
            self._socket = listening_socket(host, port, _BACKLOG)
            undo.callback(self._socket.close)
            self._socket.setblocking(False)
            self.port: int = 0 if is_unix(host) else self._socket.getsockname()[1]
            self._loop = new_loop()
            undo.callback(self._loop.close)
            self.state = PortState(
                router, threads, self._loop, keeps_headers=keeps_headers
            )
            undo.callback(self.state.idle.close)
            start(self._thread)
            undo.pop_all()
        self._started.wait()

    @property
    def address(self) -> str:
        """Host and port in the form that tritonclient needs: ``"127.0.0.1:8000"``."""
        return address_of(self.host, self.port)

    def start_request(
        self, server_conn: object, request_conn: HTTPConnection
    ) -> HttpExchange:
        """Return the exchange of a connection's next request."""
        exchange = HttpExchange(self.state, request_conn)
        self.state.connections.idle(exchange.stream, time.monotonic())
        return exchange

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._serve())
        finally:
            # The constructor never waits for a thread that failed.
            self._started.set()
            self._socket.close()
            if is_unix(self.host):
                socket_path(self.host).unlink(missing_ok=True)

    async def _serve(self) -> None:
        server = HttpServer(
            self,
            max_body_size=MAX_BODY_BYTES,
            idle_connection_timeout=_PATIENCE_S,
        )
        self.state.connections = server.connections
        server.settle = self.state.idle.retake
        server.begin = lambda connection, address: PlainConnection(
            self.state, connection, address, server
        ).wait()
        server.accept_on(self._socket, self._loop)
        self.state.idle.wait()
        self._started.set()
        try:
            while not self._stop.is_set():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_PATIENCE_S):
                        await self._stop.wait()
                self.state.drop_stalled(_PATIENCE_S)
        finally:
            server.close_port(self._socket, self._loop)
            self.state.closing = True
            self.state.idle.retake()
            await self._drain()
            for connection in self.state.plain - self.state.responding:
                connection.close()
            self.state.idle.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CLOSE_S):
                    await server.close_all_connections()

    async def _drain(self) -> None:
        """Wait for running requests up to the timeout, then cancel them."""
        if self.state.responding:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._timeout_s):
                    await self.state.quiet.wait()
        for exchange in list(self.state.responding):
            exchange.cancel()

    def close(self, timeout_s: float) -> None:
        """Accept no more requests, and release the port; safe to repeat.

        Parameters
        ----------
        timeout_s
            Seconds that running requests may take to finish.
        """
        try:
            if self._thread.is_alive():
                self._timeout_s = timeout_s
                with contextlib.suppress(RuntimeError):
                    # The loop may just have ended.
                    self._loop.call_soon_threadsafe(self._stop.set)
                if threading.current_thread() is not self._thread:
                    self._thread.join(timeout_s + 2 * _CLOSE_S)
        finally:
            self._threads.close()


class HttpEndpoint(HttpPort):
    """Serves KServe's HTTP protocol until it is closed."""

    def __init__(
        self, parts: ServerParts, shared: SharedState, host: str, port: int
    ) -> None:
        access = shared.access
        guard = Guard(access, host, access.http_restricted)
        serial = functools.partial(is_serial, parts.engine.catalog)
        router = HttpRouter(http_routes(parts, shared), guard, serial)
        keeps = bool(shared.options.http_header_forward_pattern)
        threads = HttpThreads("blsnb http")
        super().__init__(router, threads, host, port, keeps_headers=keeps)


class MetricsEndpoint(HttpPort):
    """Serves the metrics page, for Prometheus, until it is closed."""

    def __init__(
        self, parts: ServerParts, access: Access, host: str, port: int
    ) -> None:
        router = HttpRouter(metrics_routes(parts), Guard(access, host, {}))
        threads = HttpThreads("blsnb metrics", queries=1)
        super().__init__(router, threads, host, port)

    @property
    def address(self) -> str:
        """URL of the page."""
        if is_unix(self.host):
            return self.host
        return f"http://{super().address}/metrics"
