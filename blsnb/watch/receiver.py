"""An HTTP port to which servers and Collectors send their spans."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import logging
import secrets
import threading
from http import HTTPStatus

from tornado.httpserver import HTTPServer
from tornado.web import Application, HTTPError, RequestHandler, stream_request_body

from blsnb.arguments import is_loopback
from blsnb.engine.threads.start import new_loop, start
from blsnb.files.read_budget import ReadLimitError
from blsnb.otlp import protobuf_form
from blsnb.otlp.decoding import (
    MAX_BODY_BYTES,
    Decoded,
    UnsupportedTypeError,
    decode,
)
from blsnb.otlp.sending import PATH
from blsnb.printable import printable
from blsnb.serving.ports import address_of, check_port, listening_socket
from blsnb.watch.store import SpanStore

LOOPBACK, PORT = "127.0.0.1", 4318
"""OTLP's port for HTTP."""
_BACKLOG = 128
_IDLE_S = 300.0
_BODY_S = 60.0
_CLOSE_S = 5.0
_MAX_HELD_BYTES = 4 * MAX_BODY_BYTES
"""Maximum bytes of the bodies of all requests that are being received."""
_TOKEN_BYTES = 24
_log = logging.getLogger(__name__)


class Receiver:
    """Receives spans over OTLP/HTTP until it is closed; a thread of its own serves.

    Parameters
    ----------
    store
        Keeps the spans.
    host
        The address to listen on. If other machines can reach it, the path of the URL
        begins with a random token.
    port
        The port; 0 for a free one.

    Raises
    ------
    OSError
        The port is not available.
    """

    def __init__(
        self, store: SpanStore, host: str = LOOPBACK, port: int = PORT
    ) -> None:
        check_port("OTLP", host, port)
        self.host = host
        self.token = "" if is_loopback(host) else secrets.token_urlsafe(_TOKEN_BYTES)
        self._socket = listening_socket(host, port, _BACKLOG)
        self.port: int = self._socket.getsockname()[1]
        self.store = store
        self.path = f"/{self.token}{PATH}" if self.token else PATH
        self.held_bytes = 0
        """Bytes of the bodies that are being received; only its thread uses them."""
        self._stop = asyncio.Event()
        self._thread = threading.Thread(
            target=self._run, name="blsnb watch", daemon=True
        )
        with contextlib.ExitStack() as undo:
            undo.callback(self._socket.close)
            self._socket.setblocking(False)
            self._loop = new_loop()
            undo.callback(self._loop.close)
            start(self._thread)
            undo.pop_all()

    def __repr__(self) -> str:
        # Without the token, which must not reach the output of a notebook.
        return printable(f"<Receiver {address_of(self.host, self.port)}>")

    def url(self, token: str | None = None) -> str:
        """Return the URL to which spans are sent.

        Parameters
        ----------
        token
            Shown in place of the token; None to show the token.
        """
        shown = self.token if token is None else token
        path = f"/{shown}{PATH}" if self.token else PATH
        return f"http://{address_of(self.host, self.port)}{path}"

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._serve())
        except Exception:
            _log.exception("the receiver of spans has ended")
        finally:
            self._socket.close()

    async def _serve(self) -> None:
        application = Application(
            [(".*", _SpansHandler, {"receiver": self})],
            # A path may contain the token.
            log_function=lambda handler: None,
        )
        server = HTTPServer(
            application,
            max_body_size=MAX_BODY_BYTES,
            idle_connection_timeout=_IDLE_S,
            body_timeout=_BODY_S,
        )
        server.add_socket(self._socket)
        try:
            await self._stop.wait()
        finally:
            server.stop()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CLOSE_S):
                    await server.close_all_connections()

    def close(self) -> None:
        """Release the port; safe to repeat."""
        if self._thread.is_alive():
            with contextlib.suppress(RuntimeError):
                # The loop may just have ended.
                self._loop.call_soon_threadsafe(self._stop.set)
            if threading.current_thread() is not self._thread:
                self._thread.join(2 * _CLOSE_S)


@stream_request_body
class _SpansHandler(RequestHandler):
    """One request with spans; it is refused before its body is read."""

    def initialize(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._body = bytearray()
        self._is_dropped = False

    def prepare(self) -> None:
        """Refuse requests of web pages, other paths and other methods."""
        if "Origin" in self.request.headers:
            raise HTTPError(HTTPStatus.FORBIDDEN, reason="web pages may not send spans")
        path = self.request.path.encode("utf-8", "replace")
        if not hmac.compare_digest(path, self._receiver.path.encode()):
            raise HTTPError(HTTPStatus.NOT_FOUND)
        if self.request.method != "POST":
            raise HTTPError(HTTPStatus.METHOD_NOT_ALLOWED)

    def data_received(self, chunk: bytes) -> None:
        """Keep a part of the body, if all bodies stay within their limit."""
        if self._is_dropped or self._receiver.held_bytes + len(chunk) > _MAX_HELD_BYTES:
            self._is_dropped = True
            self.on_finish()
            return
        self._receiver.held_bytes += len(chunk)
        self._body += chunk

    def post(self) -> None:
        if self._is_dropped:
            raise HTTPError(HTTPStatus.SERVICE_UNAVAILABLE)
        decoded = self._decoded()
        self._receiver.store.add(decoded.spans, decoded.rejected)
        kind = self.request.headers.get("Content-Type", "")
        is_json = kind.partition(";")[0].strip().lower() == protobuf_form.JSON_TYPE
        self.set_header("Content-Type", kind)
        answer = {}
        if decoded.rejected:
            answer["partialSuccess"] = {
                "rejectedSpans": str(decoded.rejected),
                "errorMessage": "a span needs valid ids and times",
            }
        self.write(
            json.dumps(answer).encode() if is_json else protobuf_form.answer(answer)
        )

    def _decoded(self) -> Decoded:
        headers = self.request.headers
        kind = headers.get("Content-Type", "")
        encoding = headers.get("Content-Encoding", "")
        try:
            return decode(bytes(self._body), kind, encoding)
        except ReadLimitError as error:
            status, text = HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(error)
        except (UnsupportedTypeError, ImportError) as error:
            status, text = HTTPStatus.UNSUPPORTED_MEDIA_TYPE, str(error)
            _log.warning("a request with spans was refused: %s", printable(text))
        except ValueError as error:
            status, text = HTTPStatus.BAD_REQUEST, str(error)
        raise _Refusal(status, text)

    def on_finish(self) -> None:
        self._receiver.held_bytes -= len(self._body)
        self._body = bytearray()

    # Of a request that was cut off.
    on_connection_close = on_finish

    def write_error(self, status_code: int, **kwargs: object) -> None:
        """Answer with the reason as text."""
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        info = kwargs.get("exc_info")
        error = info[1] if isinstance(info, tuple) else None
        text = error.text if isinstance(error, _Refusal) else self._reason
        self.finish(printable(text))

    def set_default_headers(self) -> None:
        """Keep the name of the server's software back."""
        self.clear_header("Server")


class _Refusal(HTTPError):
    """A refusal with a text, which may be too long for a status line."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(status)
        self.text = text
