"""HttpExchange: a request on a connection, until its answer is sent."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from http.client import responses
from typing import Protocol

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
from blsnb.serving.http.answer import (
    BAD_REQUEST,
    EVENTS,
    NOT_ALLOWED,
    HttpAnswer,
    HttpRequest,
    error_answer,
    error_body,
    error_event,
)
from blsnb.serving.http.threads import Threads

MOST_BYTES = 2**31 - 1
"""Of a body: Triton counts them in 32 bits with a sign."""
_log = logging.getLogger("blsnb.serving")
_RETRY_S = 0.1
"""Seconds until a stream looks for a thread again, where none can start."""
_LATEST_S = 10.0
"""Seconds after which such a stream is broken off."""
_PHRASES = {**responses, NOT_ALLOWED: "Not Allowed"}


class Listener(Protocol):
    """What an exchange needs of the port that it is on."""

    answer: Callable[[HttpRequest], HttpAnswer]
    threads: Threads
    loop: asyncio.AbstractEventLoop

    def reads(self, exchange: HttpExchange) -> None:
        """Take note of a request of which a part has arrived."""

    def read(self, exchange: HttpExchange) -> None:
        """Take note that it is there, or will never be."""

    def begin(self, exchange: HttpExchange) -> None:
        """Take note of a request that is answered."""

    def end(self, exchange: HttpExchange) -> None:
        """Take note of its end."""


class HttpExchange(HTTPMessageDelegate):
    """Takes a request, lets threads of a pool answer it, and sends the answer.

    Threads only make the answer; each part of it goes back to the thread of the port,
    which sends it.

    Parameters
    ----------
    listener
        Whose it is.
    connection
        Where it came from.
    """

    def __init__(self, listener: Listener, connection: HTTPConnection) -> None:
        self._listener = listener
        assert isinstance(connection, HTTP1Connection)
        self._connection = connection
        self.stream: IOStream = connection.stream
        """The connection, for as long as it is open."""
        self._line = RequestStartLine("", "", "")
        self._headers = HTTPHeaders()
        self._parts: list[bytes] = []
        self._request = HttpRequest("", "")
        self._chunks: Iterator[bytes] = iter(())
        self._events = False
        """Whether the answer is a stream of events."""

    def headers_received(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders
    ) -> None:
        """Take what comes before the body; refuse one that is too large."""
        assert isinstance(start_line, RequestStartLine)
        self._line, self._headers = start_line, headers
        self._listener.reads(self)
        length = headers.get("Content-Length", "")
        if length.isdecimal() and len(length) > 9 and int(length[:30]) > MOST_BYTES:
            self._refuse(f"the body has {length} bytes, more than {MOST_BYTES}")

    def _refuse(self, message: str) -> None:
        """Answer at once; the connection is closed, as nobody reads the body."""
        answer = HttpAnswer(BAD_REQUEST, error_body(message))
        self._listener.read(self)
        self._write_headers(answer, answer.body, ("Connection", "close"))
        self._connection.finish()

    def data_received(self, chunk: bytes) -> None:
        """Take a part of the body."""
        self._parts.append(chunk)
        self._listener.reads(self)

    def on_connection_close(self) -> None:
        """Forget a request that was never complete."""
        self._parts.clear()
        self._listener.read(self)

    def drop(self) -> None:
        """Close the connection: the body does not come."""
        self._connection.close()

    def finish(self) -> None:
        """Let the request be answered: it is complete."""
        self._listener.read(self)
        self._listener.begin(self)
        parts, self._parts = self._parts, []
        try:
            body = b"".join(parts)
        except MemoryError as error:
            self._send_shortage(error)
            return
        path = path_of(self._line.path)
        self._request = HttpRequest(self._line.method, path, self._headers, body)
        self._work(self._make)

    def _send_shortage(self, error: Exception) -> None:
        """Answer that a thread or memory is missing."""
        shortage = shortage_of(error)
        assert shortage is not None
        self._send(error_answer(shortage.message, shortage.code))

    def cancel(self) -> None:
        """Cancel it: its client has gone in the middle of a stream, or the port."""
        self._request.hangup.happen()

    def _give_up(self) -> None:
        self.cancel()
        self._connection.close()
        self._listener.end(self)

    def _work(self, piece: Callable[[], None]) -> None:
        try:
            self._listener.threads.run(self._request, piece, continued=False)
        except OutOfResourcesError as error:
            self._send_shortage(error)
        except RuntimeError:
            # The end point is closed.
            self._give_up()

    def _go_on(self, since_s: float) -> None:
        """Let the next part of a stream be made, as soon as there is a thread."""
        threads, loop = self._listener.threads, self._listener.loop
        try:
            threads.run(self._request, self._make_chunk, continued=True)
        except OutOfResourcesError as error:
            if self.stream.closed() or loop.time() - since_s >= _LATEST_S:
                self._break_off(error)
            else:
                loop.call_later(_RETRY_S, self._go_on, since_s)
        except RuntimeError:
            # The end point is closed.
            self._give_up()

    def _break_off(self, error: OutOfResourcesError) -> None:
        """End a stream that cannot go on, with an error where it can hold one."""
        self.cancel()
        if self._events and not self.stream.closed():
            self._connection.write(error_event(error.message))
            self._end()
        else:
            self._give_up()

    def _then(self, step: Callable[..., None], *given: object) -> None:
        """Go on, on the thread of the port."""
        with contextlib.suppress(RuntimeError):
            # It may have ended.
            self._listener.loop.call_soon_threadsafe(step, *given)

    def _make(self) -> None:
        try:
            answer = self._listener.answer(self._request)
        except Exception:
            _log.exception("%s was not answered", self._line.path)
            self._then(self._give_up)
        else:
            self._then(self._send, answer)

    def _send(self, answer: HttpAnswer) -> None:
        if answer.chunks is None:
            self._write_headers(answer, answer.body)
            self._end()
            return
        # On Triton, too, only a stream that has begun is cancelled by who leaves:
        # src/http_server.cc, GenerateRequestClass, looks at its connection as it sends.
        self._connection.set_close_callback(self.cancel)
        self._chunks = answer.chunks
        self._events = answer.content_type == EVENTS
        self._write_headers(answer).add_done_callback(self._sent)

    def _end(self) -> None:
        self._connection.finish()
        self._listener.end(self)

    def _sent(self, written: asyncio.Future[None]) -> None:
        """Go on with a stream once its client has taken what was sent."""
        if written.cancelled() or written.exception() is not None:
            self._give_up()
        else:
            self._go_on(self._listener.loop.time())

    def _make_chunk(self) -> None:
        try:
            chunk = next(self._chunks, b"")
        except Exception:
            _log.exception("%s was not answered to the end", self._line.path)
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
        answer: HttpAnswer,
        body: bytes | None = None,
        *more: tuple[str, str],
    ) -> asyncio.Future[None]:
        headers = HTTPHeaders()
        for name, value in (
            ("Content-Type", answer.content_type),
            *answer.headers,
            *more,
        ):
            headers.add(name, value)
        if body is not None:
            headers.add("Content-Length", str(len(body)))
        phrase = _PHRASES.get(answer.status, "Unknown")
        line = ResponseStartLine("HTTP/1.1", answer.status, phrase)
        sent = None if self._line.method == "HEAD" else body
        return self._connection.write_headers(line, headers, sent)


def path_of(target: str) -> str:
    """Return the path that a request names: nothing is decoded, no query is left."""
    path = target.partition("?")[0]
    if not path.startswith("/"):
        # A proxy's form: a whole address.
        path = "/" + path.partition("://")[2].partition("/")[2]
    if path.isascii():
        return path
    return path.encode("latin-1", "replace").decode("utf-8", "surrogateescape")
