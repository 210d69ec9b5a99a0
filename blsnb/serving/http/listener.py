"""HttpListener: a port, its connections, and the thread that has them all."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Callable

from tornado.httputil import HTTPConnection, HTTPServerConnectionDelegate
from tornado.iostream import IOStream

from blsnb.engine.threads.start import new_loop, start
from blsnb.serving.core.address import address_of
from blsnb.serving.http.answer import HttpAnswer, HttpRequest
from blsnb.serving.http.application import MOST_BYTES, HttpExchange
from blsnb.serving.http.connections import Connections
from blsnb.serving.http.server import HttpServer
from blsnb.serving.http.threads import Threads

_WAITING = 1024
"""Connections that the system keeps until they are taken, as Triton's."""
_CLOSE_S = 2.0
_PATIENCE_S = 3600.0
"""So long a connection may be idle, or a request half through."""


class HttpListener(HTTPServerConnectionDelegate):
    """Takes requests on a port, and sends back what they are answered.

    Parameters
    ----------
    answer
        Called with each request, on a thread of a pool.
    threads
        Run the answering.
    host, port
        Where to listen; port 0 for one that is free.
    name
        Of the thread that has the connections.

    Raises
    ------
    OSError
        The port cannot be had.
    OutOfResourcesError
        No thread, or no event loop, is left for it.
    """

    def __init__(
        self,
        answer: Callable[[HttpRequest], HttpAnswer],
        threads: Threads,
        host: str,
        port: int,
        name: str,
    ) -> None:
        self.answer = answer
        self.threads = threads
        self._host = host
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server(
            (host, port), family=family, backlog=_WAITING
        )
        self._socket.setblocking(False)
        self.port: int = self._socket.getsockname()[1]
        self._exchanges: set[HttpExchange] = set()
        self._reading: set[HttpExchange] = set()
        """Those whose body is on its way."""
        self._lingering: set[HttpExchange] = set()
        self._timeout_s = 0.0
        self._connections: Connections[IOStream] = Connections(0)
        self._stop = asyncio.Event()
        self._quiet = asyncio.Event()
        """Set when a request ends, and no other is on its way."""
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        with contextlib.ExitStack() as undo:
            undo.callback(self._socket.close)
            self.loop = new_loop()
            undo.callback(self.loop.close)
            start(self._thread)
            undo.pop_all()
        self._started.wait()

    @property
    def address(self) -> str:
        """Host and port, as a client takes them."""
        return address_of(self._host, self.port)

    def start_request(
        self, server_conn: object, request_conn: HTTPConnection
    ) -> HttpExchange:
        """Return what takes the next request of a connection."""
        exchange = HttpExchange(self, request_conn)
        self._connections.rests(exchange.stream, time.monotonic())
        return exchange

    def reads(self, exchange: HttpExchange) -> None:
        """Take note of a request of which a part has arrived."""
        self._reading.add(exchange)
        self._connections.reads(exchange.stream, time.monotonic())

    def read(self, exchange: HttpExchange) -> None:
        """Take note that it is there, or will never be."""
        self._reading.discard(exchange)

    def begin(self, exchange: HttpExchange) -> None:
        """Take note of a request that is answered."""
        self._exchanges.add(exchange)
        self._connections.works(exchange.stream)
        self._quiet.clear()

    def end(self, exchange: HttpExchange) -> None:
        """Take note of its end."""
        self._exchanges.discard(exchange)
        if not self._exchanges:
            self._quiet.set()

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
                runner.run(self._serve())
        finally:
            # Whoever made it is not left waiting.
            self._started.set()
            self._socket.close()

    async def _serve(self) -> None:
        server = HttpServer(
            self,
            max_body_size=MOST_BYTES,
            idle_connection_timeout=_PATIENCE_S,
        )
        self._connections = server.connections
        server.accept_on(self._socket, self.loop)
        self._started.set()
        try:
            while not self._stop.is_set():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_PATIENCE_S):
                        await self._stop.wait()
                self._drop_stalled()
        finally:
            server.close_port(self._socket, self.loop)
            await self._drain()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CLOSE_S):
                    await server.close_all_connections()

    def _drop_stalled(self) -> None:
        """Drop requests whose bodies were on their way at the last look, too.

        tornado has a timeout for bodies, which costs each request more than all that
        is done here for it.
        """
        for exchange in self._lingering & self._reading:
            exchange.drop()
        self._lingering = set(self._reading)

    async def _drain(self) -> None:
        """Wait for the requests on their way, but not for ever."""
        if self._exchanges:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._timeout_s):
                    await self._quiet.wait()
        for exchange in list(self._exchanges):
            exchange.cancel()

    def close(self, timeout_s: float) -> None:
        """Take no more requests, and end the thread; safe to repeat.

        Parameters
        ----------
        timeout_s
            How long requests that are on their way may go on.
        """
        if not self._thread.is_alive():
            return
        self._timeout_s = timeout_s
        with contextlib.suppress(RuntimeError):
            # The loop may end at this moment.
            self.loop.call_soon_threadsafe(self._stop.set)
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout_s + 2 * _CLOSE_S)
