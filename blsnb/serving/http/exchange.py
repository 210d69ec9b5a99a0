"""One HTTP exchange: read a request, make its response on threads, and send it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Hashable, Iterator
from http.client import responses
from typing import Protocol, TypeAlias

from tornado.http1connection import HTTP1Connection
from tornado.httputil import (
    HTTPConnection,
    HTTPHeaders,
    HTTPMessageDelegate,
    RequestStartLine,
    ResponseStartLine,
)
from tornado.iostream import IOStream

from blsnb.errors import OutOfResourcesError
from blsnb.serving.core.shortage import shortage_of
from blsnb.serving.http.connections.limited_server import Connections
from blsnb.serving.http.connections.shared_thread import (
    IdleConnections,
    QuickModels,
    SharingConnection,
)
from blsnb.serving.http.messages import (
    BAD_REQUEST,
    EVENTS,
    NOT_ALLOWED,
    HttpRequest,
    HttpResponse,
    error_body,
    error_response,
    event,
)
from blsnb.serving.http.routes import HttpRouter, HttpThreads, RouteTarget

MAX_BODY_BYTES = 2**31 - 1
"""Triton counts the bytes of a body in 32 bits with a sign."""
_log = logging.getLogger("blsnb.serving")
_RETRY_S = 0.1
"""Seconds between attempts of a stream to get a thread when none can start."""
_GIVE_UP_S = 10.0
"""Seconds without a thread after which a stream is aborted."""
REASONS = {**responses, NOT_ALLOWED: "Not Allowed"}


class Exchange(Hashable, Protocol):
    """A request that is received or answered, or its connection."""

    def cancel(self) -> None:
        """Cancel the request: the port closes."""

    def close(self) -> None:
        """Close the connection."""


class Plain(Exchange, SharingConnection, Protocol):
    """A connection that tornado does not serve."""


Closable: TypeAlias = IOStream | Exchange
"""A connection, to tornado or to this package."""


class PortState:
    """The exchanges and connections of a port; only its thread uses them."""

    def __init__(
        self,
        router: HttpRouter,
        threads: HttpThreads,
        loop: asyncio.AbstractEventLoop,
        *,
        keeps_headers: bool,
    ) -> None:
        self.keeps_headers = keeps_headers
        """Whether requests have their headers as they were sent, too."""
        self.router, self.threads, self.loop = router, threads, loop
        self.connections: Connections[Closable] = Connections(0)
        self.plain: set[Exchange] = set()
        """Connections that tornado does not serve."""
        self.idle: IdleConnections[Plain] = IdleConnections(
            loop, self._served, lambda each: self.begin_response(each, each)
        )
        """Those of them that wait for a request."""
        self.quick_models = QuickModels()
        self.closing = False
        self.responding: set[Exchange] = set()
        self.reading: set[Exchange] = set()
        """Exchanges whose request is incomplete."""
        self._lingering: set[Exchange] = set()
        self.quiet = asyncio.Event()
        """Set when the last response is complete."""

    def begin_reading(self, exchange: Exchange, connection: Closable) -> None:
        """Note that a part of a request arrived."""
        self.reading.add(exchange)
        self.connections.reading(connection, time.monotonic())

    def begin_response(self, exchange: Exchange, connection: Closable) -> None:
        """Note that a request is complete."""
        self.reading.discard(exchange)
        self._lingering.discard(exchange)
        self.responding.add(exchange)
        self.connections.responding(connection)
        self.quiet.clear()

    def end_response(self, exchange: Exchange) -> None:
        """Note that a response was sent or given up."""
        self.responding.discard(exchange)
        if not self.responding:
            self.quiet.set()

    def _served(self, connection: Plain, when_s: float) -> None:
        """Note when the shared thread served an idle connection."""
        if connection in self.plain:
            self.connections.idle(connection, when_s)

    def drop_stalled(self, idle_s: float) -> None:
        """Drop requests that were incomplete at the last check, too.

        Connections that tornado does not serve are closed after some idle seconds.

        tornado's timeout for bodies would cost each request more time.
        """
        self.idle.retake()
        for exchange in self._lingering & self.reading:
            exchange.close()
        self._lingering = set(self.reading)
        for connection in self.connections.idle_since(time.monotonic() - idle_s):
            if connection in self.plain:
                connection.close()


class HttpExchange(HTTPMessageDelegate):
    """Reads a request, has threads make the response, and sends it.

    The threads only make the response or its chunks; the port's thread sends them.
    """

    def __init__(self, port: PortState, connection: HTTPConnection) -> None:
        self._port = port
        assert isinstance(connection, HTTP1Connection)
        self._connection = connection
        self.stream: IOStream = connection.stream
        """The connection, for as long as it is open."""
        self._line = RequestStartLine("", "", "")
        self._headers = HTTPHeaders()
        self._declared_length: str | None = None
        self._raw_headers: tuple[tuple[str, str], ...] = ()
        if port.keeps_headers:
            self._keep_headers(connection)
        self._parts: list[bytes] = []
        self._request = HttpRequest("", "")
        self._target: RouteTarget | None = None
        self._chunks: Iterator[bytes] = iter(())
        self._is_event_stream = False

    def headers_received(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders
    ) -> None:
        """Receive start line and headers; refuse a body that is too large."""
        assert isinstance(start_line, RequestStartLine)
        self._line, self._headers = start_line, headers
        self._port.begin_reading(self, self.stream)
        is_chunked = headers.get("Transfer-Encoding", "").lower() == "chunked"
        if is_chunked and "Content-Length" in headers:
            self._frame_by_chunks(headers)
        length = headers.get("Content-Length", "")
        if length.isdecimal() and int(length[:30]) > MAX_BODY_BYTES:
            self._refuse(f"the body has {length} bytes, more than {MAX_BODY_BYTES}")

    def _keep_headers(self, connection: HTTP1Connection) -> None:
        """Keep names as sent; tornado capitalises those that it passes on."""
        parse = connection._parse_headers

        def parse_and_keep(data: bytes) -> tuple[str, HTTPHeaders]:
            self._raw_headers = raw_headers(data)
            return parse(data)

        connection._parse_headers = parse_and_keep  # type: ignore[method-assign]

    def _frame_by_chunks(self, headers: HTTPHeaders) -> None:
        """Let the chunks end a body that has a length, too, as Triton does.

        The connection ends with it, as HTTP demands: something between client and
        server may have taken the length for the end, and what follows for a request.
        """
        self._declared_length = headers.pop("Content-Length")
        # tornado decides before it passes the headers on.
        self._connection._disconnect_on_finish = True

    def _refuse(self, message: str) -> None:
        """Respond at once, and close the connection instead of reading the body."""
        self._port.reading.discard(self)
        response = HttpResponse(BAD_REQUEST, error_body(message))
        self._write_headers(response, response.body, ("Connection", "close"))
        self._connection.finish()

    def data_received(self, chunk: bytes) -> None:
        """Receive a part of the body."""
        self._parts.append(chunk)
        self._port.begin_reading(self, self.stream)

    def on_connection_close(self) -> None:
        """Forget a request that will stay incomplete."""
        self._parts.clear()
        self._port.reading.discard(self)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def finish(self) -> None:
        """Handle a complete request."""
        self._port.begin_response(self, self.stream)
        parts, self._parts = self._parts, []
        try:
            body = b"".join(parts)
        except MemoryError as error:
            self._send_shortage(error)
            return
        path = path_of(self._line.path)
        self._target = self._port.router.find(path)
        self._request = HttpRequest(
            self._line.method,
            path,
            self._headers,
            body,
            declared_length=self._declared_length,
            raw_headers=self._raw_headers,
        )
        try:
            self._run(self._make, continued=False)
        except OutOfResourcesError as error:
            self._send_shortage(error)

    def _send_shortage(self, error: Exception) -> None:
        shortage = shortage_of(error)
        assert shortage is not None
        self._send(error_response(shortage.message, shortage.code))

    def cancel(self) -> None:
        """Cancel the request: its client left the stream, or the port closes."""
        self._request.cancellation.cancel()

    def _give_up(self) -> None:
        self.cancel()
        self._connection.close()
        self._port.end_response(self)

    def _run(self, work: Callable[[], None], *, continued: bool) -> None:
        """Run a part of the work on a thread; raise an error if none can start."""
        assert self._target is not None
        try:
            self._port.threads.run(self._target, work, continued=continued)
        except RuntimeError:
            # The port is closed.
            self._give_up()

    def _continue(self, since_s: float) -> None:
        """Have the next chunk made as soon as a thread is free."""
        loop = self._port.loop
        try:
            self._run(self._make_chunk, continued=True)
        except OutOfResourcesError as error:
            if self.stream.closed() or loop.time() - since_s >= _GIVE_UP_S:
                self._break_off(error)
            else:
                loop.call_later(_RETRY_S, self._continue, since_s)

    def _break_off(self, error: OutOfResourcesError) -> None:
        """End a stream early, with an error if it is a stream of events."""
        self.cancel()
        if self._is_event_stream and not self.stream.closed():
            self._connection.write(event(error_body(error.message)))
            self._end()
        else:
            self._give_up()

    def _then(self, step: Callable[..., None], *args: object) -> None:
        """Call a method on the port's thread, unless the thread has ended."""
        with contextlib.suppress(RuntimeError):
            self._port.loop.call_soon_threadsafe(step, *args)

    def _make(self) -> None:
        assert self._target is not None
        try:
            response = self._target.respond(self._request)
        except BaseException:
            _log.exception("%s failed", self._line.path)
            self._then(self._give_up)
        else:
            self._then(self._send, response)

    def _send(self, response: HttpResponse) -> None:
        if response.chunks is None:
            self._write_headers(response, response.body)
            self._end()
            return
        # On Triton, too, a client that leaves cancels only a stream that has begun:
        # src/http_server.cc, GenerateRequestClass, checks the connection as it sends.
        self._connection.set_close_callback(self.cancel)
        self._chunks = response.chunks
        self._is_event_stream = response.content_type == EVENTS
        self._write_headers(response).add_done_callback(self._sent)

    def _end(self) -> None:
        self._connection.finish()
        self._port.end_response(self)

    def _sent(self, written: asyncio.Future[None]) -> None:
        """Continue a stream once the client has received what was sent."""
        if written.cancelled() or written.exception() is not None:
            self._give_up()
        else:
            self._continue(self._port.loop.time())

    def _make_chunk(self) -> None:
        try:
            chunk = next(self._chunks, b"")
        except BaseException:
            _log.exception("%s failed during its stream", self._line.path)
            self._then(self._give_up)
        else:
            self._then(self._send_chunk, chunk)

    def _send_chunk(self, chunk: bytes) -> None:
        if chunk:
            self._connection.write(chunk).add_done_callback(self._sent)
        else:
            self._end()

    def _write_headers(
        self,
        response: HttpResponse,
        body: bytes | None = None,
        *more: tuple[str, str],
    ) -> asyncio.Future[None]:
        headers = HTTPHeaders({"Content-Type": response.content_type})
        for name, value in (*response.headers, *more):
            headers.add(name, value)
        if body is not None:
            headers.add("Content-Length", str(len(body)))
        reason = REASONS.get(response.status, "Unknown")
        line = ResponseStartLine("HTTP/1.1", response.status, reason)
        sent = None if self._line.method == "HEAD" else body
        return self._connection.write_headers(line, headers, sent)


def raw_headers(data: bytes) -> tuple[tuple[str, str], ...]:
    """Return the headers of a request in order, with their names as sent."""
    text = data.decode("utf-8", "replace").lstrip("\r\n")
    lines = [line.partition(":") for line in text.splitlines()[1:]]
    return tuple((name, value.strip(" \t")) for name, colon, value in lines if colon)


def path_of(target: str) -> str:
    """Return the path of a request target, without its query; nothing is decoded."""
    path = target.partition("?")[0]
    if not path.startswith("/"):
        # A proxy sends a whole URL.
        path = "/" + path.partition("://")[2].partition("/")[2]
    if path.isascii():
        return path
    return path.encode("latin-1", "replace").decode("utf-8", "surrogateescape")
