"""HttpExchange: a request on a connection, until its answer is sent."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
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
from tornado.iostream import StreamClosedError

from blsnb.engine.workers import Workers
from blsnb.serving.http.answer import (
    BAD_REQUEST,
    NOT_ALLOWED,
    Hangup,
    HttpAnswer,
    HttpRequest,
    error_body,
)

MOST_BYTES = 2**31 - 1
"""Of a body: Triton counts them in 32 bits with a sign."""
_log = logging.getLogger("blsnb.serving")
_PHRASES = {**responses} | {NOT_ALLOWED: "Not Allowed"}


class Listener(Protocol):
    """What an exchange needs of the port that it is on."""

    answer: Callable[[HttpRequest], HttpAnswer]
    pool_of: Callable[[HttpRequest], Workers]

    def begin(self, exchange: HttpExchange) -> None:
        """Take note of a request that is on its way."""

    def end(self, exchange: HttpExchange) -> None:
        """Take note of its end."""


class HttpExchange(HTTPMessageDelegate):
    """Takes a request, lets it be answered on another thread, and sends the answer.

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
        self._line = RequestStartLine("", "", "")
        self._headers = HTTPHeaders()
        self._parts: list[bytes] = []
        self._refused = False
        self.hangup = Hangup()
        self.task: asyncio.Task[None] | None = None

    def headers_received(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders
    ) -> None:
        """Take what comes before the body; refuse one that is too large."""
        assert isinstance(start_line, RequestStartLine)
        self._line, self._headers = start_line, headers
        length = headers.get("Content-Length", "")
        if length.isdecimal() and len(length) > 9 and int(length[:30]) > MOST_BYTES:
            self._refuse(f"the body has {length} bytes, more than {MOST_BYTES}")

    def _refuse(self, message: str) -> None:
        """Answer at once; the connection is closed, as nobody reads the body."""
        self._refused = True
        answer = HttpAnswer(BAD_REQUEST, error_body(message))
        self._write_headers(answer, answer.body, ("Connection", "close"))
        self._connection.finish()

    def data_received(self, chunk: bytes) -> None:
        """Take a part of the body."""
        self._parts.append(chunk)

    def finish(self) -> None:
        """Let the request be answered: it is complete."""
        self._connection.set_close_callback(self.hangup.happen)
        self._listener.begin(self)
        self.task = asyncio.get_running_loop().create_task(self._answer())

    def on_connection_close(self) -> None:
        """Forget a request that was never complete."""
        self._parts.clear()
        self.hangup.happen()

    def _request(self) -> HttpRequest:
        body, self._parts = b"".join(self._parts), []
        path = self._line.path.partition("?")[0].partition("#")[0]
        path = path.encode("latin-1", "replace").decode("utf-8", "surrogateescape")
        if not path.startswith("/"):
            # A proxy's form: a whole address.
            path = "/" + path.partition("://")[2].partition("/")[2]
        return HttpRequest(self._line.method, path, self._headers, body, self.hangup)

    async def _answer(self) -> None:
        try:
            request = self._request()
            pool = self._listener.pool_of(request)
            loop = asyncio.get_running_loop()
            answer = await loop.run_in_executor(pool, self._listener.answer, request)
            await self._send(answer, pool)
        except (StreamClosedError, RuntimeError, asyncio.CancelledError):
            # The client has left, or the end point is closed.
            self._give_up()
        except Exception:
            _log.exception("%s was not answered", self._line.path)
            self._give_up()
        finally:
            self._listener.end(self)

    def _give_up(self) -> None:
        self.hangup.happen()
        self._connection.close()

    async def _send(self, answer: HttpAnswer, pool: Workers) -> None:
        if answer.chunks is None:
            sent = self._write_headers(answer, answer.body)
            self._connection.finish()
            await sent
            return
        await self._write_headers(answer)
        loop = asyncio.get_running_loop()
        while chunk := await loop.run_in_executor(pool, next, answer.chunks, None):
            # Who reads slowly is waited for.
            await self._connection.write(chunk)
        self._connection.finish()

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
