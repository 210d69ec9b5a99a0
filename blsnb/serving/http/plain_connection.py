"""A connection of plain requests: the thread that runs them reads and writes, too."""

from __future__ import annotations

import functools
import logging
import socket
import time
from collections.abc import Callable
from typing import Any

from tornado.iostream import IOStream, StreamClosedError

from blsnb.errors import OutOfResourcesError
from blsnb.serving.core.shortage import shortage_of
from blsnb.serving.http.connections.limited_server import HttpServer
from blsnb.serving.http.connections.plain_head import PlainHead, plain_head
from blsnb.serving.http.connections.plain_socket import PlainSocket
from blsnb.serving.http.exchange import REASONS, PortState, path_of, raw_headers
from blsnb.serving.http.messages import HttpRequest, HttpResponse, error_response
from blsnb.serving.http.routes import Pool, RouteTarget

_log = logging.getLogger("blsnb.serving")
_NOTHING = memoryview(b"")
_NO_REQUEST = HttpRequest("", "")
_TURN_S = 0.05
"""Seconds after which a thread leaves a busy connection to other connections."""


class ReceivedStream(IOStream):
    """A tornado stream that begins with bytes which were received before."""

    def __init__(
        self, connection: socket.socket, received: bytes, size: int | None
    ) -> None:
        self._received = memoryview(received)
        super().__init__(connection, max_buffer_size=size)

    def read_from_fd(self, buf: bytearray | memoryview) -> int | None:
        """Read what was received before, and then from the connection."""
        if not self._received:
            return super().read_from_fd(buf)
        count = min(len(buf), len(self._received))
        buf[:count] = self._received[:count]
        self._received = self._received[count:]
        return count


class PlainConnection:
    """A connection that tornado serves only from its first request that is not plain.

    The port's thread waits for requests. Quick ones of all connections are served by
    one thread, see `IdleConnections`. Each other one has a thread of its route's pool.
    That thread sends the response, and receives the next request if it comes soon: a
    client that sends one request after the other is served without a switch of
    threads. One thread at a time uses the connection.

    Parameters
    ----------
    server
        tornado's server, which continues with the connection.
    """

    def __init__(
        self,
        port: PortState,
        connection: socket.socket,
        address: tuple[Any, ...],
        server: HttpServer,
    ) -> None:
        self._port = port
        self._socket = connection
        self._stream = PlainSocket(connection)
        self._address = address
        self._server = server
        self._data = bytearray()
        self._head: PlainHead | None = None
        self._path = ""
        self._target: RouteTarget | None = None
        self._request = _NO_REQUEST
        self._is_cancelled = False
        self._unsent = _NOTHING
        port.plain.add(self)

    def fileno(self) -> int:
        """Return the descriptor of the socket."""
        return self._socket.fileno()

    def wait(self) -> None:
        """Wait for the next request."""
        self._port.end_response(self)
        if self._port.closing:
            self.close()
            return
        # An idle connection keeps no body.
        self._request = _NO_REQUEST
        self._port.connections.idle(self, time.monotonic())
        self._port.idle.add(self)

    def close(self) -> None:
        """Close the connection; no thread uses it."""
        self._port.idle.remove(self)
        self._port.loop.remove_reader(self._socket)
        self._port.loop.remove_writer(self._socket)
        self._forget()
        self._socket.close()

    def cancel(self) -> None:
        """Cancel the request, and end the connection: the port closes.

        The thread that runs the request closes the socket, once the model has ended.
        """
        self._is_cancelled = True
        self._request.cancellation.cancel()
        self._stream.end()

    def _forget(self) -> None:
        self._port.plain.discard(self)
        self._port.connections.remove(self)
        self._port.reading.discard(self)
        self._port.end_response(self)

    def receive(self) -> None:
        """Receive a request of an idle connection, on the port's thread."""
        try:
            step = self._received()
        except BlockingIOError:
            return
        if step is None:
            assert self._target is not None
            self._run(self._target, self._port.idle.share(self))
        else:
            self._port.idle.remove(self)
            step()

    def _received(self) -> Callable[[], None] | None:
        """Receive; return what to do unless a request for a shared thread is complete.

        Raises
        ------
        BlockingIOError
            There is nothing to receive.
        """
        if not self._receive():
            return self.close
        target = self._target if self._parse() else None
        if target is None or not (self._is_complete() and self._is_shared(target)):
            return self._dispatch
        return None

    def _receive(self) -> bool:
        """Receive what the client sent; return False if it left."""
        data = self._stream.receive()
        try:
            self._data += data
        except MemoryError:
            return False
        return bool(data)

    def _is_shared(self, target: RouteTarget) -> bool:
        """Whether a thread for all connections serves the requests of a target.

        A single client is served faster by a thread that waits for it only.
        """
        return (
            bool(self._port.idle.is_shared or self._port.responding)
            and self._port.quick_models.is_quick(target.model)
            and not self._port.closing
            and target.is_serial()
        )

    def _run(self, target: RouteTarget, work: Callable[[], None]) -> None:
        """Run a complete request on a thread, or refuse it."""
        try:
            self._take_request()
            self._port.threads.run(target, work, continued=False)
        except (OutOfResourcesError, MemoryError) as error:
            self._port.idle.retake()
            self._refuse(error)
        except RuntimeError:
            # The port is closed.
            self._port.idle.retake()
            self.close()

    def respond_shared(self) -> Callable[[], None] | None:
        """Respond to a request; return what is left to do for the port's thread."""
        target = self._target
        assert target is not None
        began_s = time.monotonic()
        try:
            response = target.respond(self._request)
            self._port.quick_models.note(target.model, time.monotonic() - began_s)
            unsent = self._send(response, 0.0)
        except BaseException:
            _log.exception("%s failed", self._request.path)
            return self.close
        if self._data or unsent is None or unsent:
            return functools.partial(self._after_sending, unsent)
        # An idle connection keeps no body.
        self._request = _NO_REQUEST
        return None

    def serve_shared(self) -> Callable[[], None] | None:
        """Receive a request and respond; return what is left to do."""
        try:
            step = self._received()
            if step is None:
                self._take_request()
        except BlockingIOError:
            return None
        except BaseException:
            # The connection was idle: it has no request yet.
            _log.exception("%s failed", self._path)
            return self.close
        return self.respond_shared() if step is None else step

    def finish(self, step: Callable[[], None] | None) -> None:
        """Let the port's thread continue with the connection."""
        self._then(self._continue, step or self._after_sending)

    def _continue(self, step: Callable[[], None]) -> None:
        """Do what is left to do, unless the connection was closed for another one."""
        if self in self._port.plain:
            step()

    def note_long(self, took_s: float) -> None:
        """Note that the current request takes long."""
        target = self._target
        if target is not None:
            self._port.quick_models.note(target.model, took_s)

    def _readable(self) -> None:
        """Receive the rest of a request."""
        try:
            stays = self._receive()
        except BlockingIOError:
            return
        if stays:
            self._dispatch()
        else:
            self.close()

    def _dispatch(self) -> None:
        """Run the next request, wait for the rest of it, or let tornado read it."""
        port = self._port
        if not self._parse() or self._target is None:
            port.loop.remove_reader(self._socket)
            self._leave_to_tornado()
            return
        if not self._is_complete():
            port.end_response(self)
            port.begin_reading(self, self)
            port.loop.add_reader(self._socket, self._readable)
            return
        port.loop.remove_reader(self._socket)
        port.begin_response(self, self)
        self._run(self._target, self.serve_alone)

    def _refuse(self, error: Exception) -> None:
        """Respond that a thread or memory is missing."""
        shortage = shortage_of(error)
        assert shortage is not None
        unsent = self._send(error_response(shortage.message, shortage.code), 0.0)
        # Without a call within a call: many requests may have been sent ahead.
        self._port.loop.call_soon(self._after_sending, unsent)

    def _parse(self) -> bool:
        """Parse the head of the next request; return whether it is plain."""
        known = self._head
        if known is not None and self._data.startswith(known.text):
            return True
        self._head = head = plain_head(self._data)
        if head is None:
            return False
        path = path_of(head.target)
        if path != self._path or self._target is None:
            target = self._port.router.find(path)
            self._path = path
            self._target = None if target.may_stream else target
        return True

    def _is_complete(self) -> bool:
        assert self._head is not None
        return len(self._data) >= len(self._head.text) + self._head.length

    def _take_request(self) -> None:
        """Take a complete request out of what was received."""
        head = self._head
        assert head is not None
        start = len(head.text)
        end = start + head.length
        kept = raw_headers(head.text) if self._port.keeps_headers else ()
        try:
            body = bytes(self._data[start:end])
        finally:
            del self._data[:end]
        self._request = HttpRequest(
            head.method, self._path, head.headers, body, raw_headers=kept
        )
        if self._is_cancelled:
            # The port's thread may have cancelled the request before this one.
            self._request.cancellation.cancel()

    def _leave_to_tornado(self) -> None:
        self._forget()
        size = self._server.max_buffer_size
        stream = ReceivedStream(self._socket, bytes(self._data), size)
        try:
            self._server.handle_stream(stream, self._address)
        except StreamClosedError:
            stream.close()

    def serve_alone(self) -> None:
        """Run requests on a thread of the pool; close if that fails."""
        try:
            self._serve_while_busy()
        except BaseException:
            _log.exception("%s failed", self._request.path)
            self._then(self.close)

    def _serve_while_busy(self) -> None:
        """Run requests as long as they come soon."""
        until_s = time.monotonic() + _TURN_S
        while True:
            target = self._target
            assert target is not None
            unsent = self._send(target.respond(self._request), _TURN_S)
            lingers = target.pool is Pool.REQUESTS and time.monotonic() < until_s
            lingers = lingers and not (
                self._port.idle.is_shared and self._is_shared(target)
            )
            if unsent is None or unsent or not lingers or self._port.closing:
                self._then(self._after_sending, unsent)
                return
            if not self._data and not self._receive_soon():
                return
            if not (self._parse() and self._target is target and self._is_complete()):
                self._then(self._dispatch)
                return
            self._take_request()

    def _receive_soon(self) -> bool:
        """Receive the next request; else return the connection to the port's thread."""
        try:
            data = self._stream.receive_soon()
        except TimeoutError:
            self._then(self.wait)
            return False
        if not data:
            self._then(self.close)
            return False
        self._data += data
        return True

    def _send(self, response: HttpResponse, for_s: float) -> memoryview | None:
        """Send a response; return what the client did not take, or None if it left."""
        return self._stream.send(memoryview(_head_of(response) + response.body), for_s)

    def _send_later(self, unsent: memoryview) -> None:
        """Send the rest of a response whenever the client takes some."""
        self._port.end_response(self)
        self._unsent = unsent
        self._port.connections.reading(self, time.monotonic())
        self._port.loop.add_writer(self._socket, self._writable)

    def _writable(self) -> None:
        unsent = self._stream.send(self._unsent, 0.0)
        if unsent:
            self._unsent = unsent
            self._port.connections.reading(self, time.monotonic())
            return
        self._unsent = _NOTHING
        self._port.loop.remove_writer(self._socket)
        self._after_sending(unsent)

    def _after_sending(self, unsent: memoryview | None = _NOTHING) -> None:
        """Continue on the port's thread after a response."""
        if unsent is None:
            self.close()
        elif unsent:
            self._send_later(unsent)
        elif self._data:
            self._dispatch()
        else:
            self.wait()

    def _then(self, step: Callable[..., None], *args: object) -> None:
        """Call a method on the port's thread; close if that thread has ended."""
        try:
            self._port.loop.call_soon_threadsafe(step, *args)
        except RuntimeError:
            self._socket.close()


def _head_of(response: HttpResponse) -> bytes:
    """Return status line and headers of a response."""
    lines = [
        f"HTTP/1.1 {response.status} {REASONS.get(response.status, 'Unknown')}",
        f"Content-Type: {response.content_type}",
        *[f"{name}: {value}" for name, value in response.headers],
        f"Content-Length: {len(response.body)}\r\n\r\n",
    ]
    return "\r\n".join(lines).encode()
