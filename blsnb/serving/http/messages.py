"""HTTP requests and responses, and the compression of their bodies."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from blsnb.engine.request.validation import RequestError
from blsnb.errors import OUT_OF_RESOURCES
from blsnb.files.read_budget import Inflated, ReadBudget
from blsnb.otlp.ids import context_of
from blsnb.pb_utils.compiled.json_text import bytes_of
from blsnb.serving.core.cancellation import Cancellation
from blsnb.serving.http.json_body import Json
from blsnb.trace.facts import TraceContext

JSON = "application/json"
PLAIN = "text/plain"
BINARY = "application/octet-stream"
EVENTS = "text/event-stream; charset=utf-8"
OK, NO_CONTENT = 200, 204
BAD_REQUEST, FORBIDDEN, NOT_FOUND, NOT_ALLOWED = 400, 403, 404, 405
_STATUSES = {
    "NOT_FOUND": NOT_FOUND,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    OUT_OF_RESOURCES: 503,
    "UNSUPPORTED": 501,
}
"""Status by Triton's error code; `BAD_REQUEST` for all others."""
GZIP, DEFLATE, IDENTITY = "gzip", "deflate", "identity"
_WEIGHT = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request with its whole body.

    Parameters
    ----------
    path
        The path as sent, without the query; nothing is decoded.
    headers
        By name, in any case.
    cancellation
        Is set when the client leaves during a stream, or the port closes.
    declared_length
        Content-Length of a chunked body, which does not end there; else None.
    raw_headers
        Names, as sent, and values; only where headers are forwarded to models.
    """

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    cancellation: Cancellation = field(default_factory=Cancellation)
    declared_length: str | None = None
    raw_headers: tuple[tuple[str, str], ...] = ()

    @property
    def context(self) -> TraceContext | None:
        """The OpenTelemetry context that the client sent."""
        return context_of(
            self.headers.get("traceparent"), self.headers.get("tracestate")
        )


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response.

    Parameters
    ----------
    headers
        Other than the type and the length of the body.
    chunks
        The body in parts, instead of `body`.
    """

    status: int = OK
    body: bytes = b""
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()
    chunks: Iterator[bytes] | None = None


def json_response(value: Json) -> HttpResponse:
    """Return a response with a JSON body."""
    return HttpResponse(body=bytes_of(value))


def error_body(message: str) -> bytes:
    """Return the body of an error."""
    return bytes_of({"error": message})


def event(text: bytes) -> bytes:
    """Return the event of a JSON text within a stream."""
    return b"data: " + text + b"\n\n"


def error_response(
    message: str, code: str = "INVALID_ARG", content_type: str = JSON
) -> HttpResponse:
    """Return the response for an error with Triton's code."""
    status = _STATUSES.get(code, BAD_REQUEST)
    return HttpResponse(status, error_body(message), content_type)


class UnknownEncodingError(RequestError):
    """The body has a compression that Triton does not support."""

    def __init__(self) -> None:
        super().__init__("Unsupported compression type", "UNSUPPORTED")


def decompressed(
    body: bytes, headers: Mapping[str, str]
) -> tuple[bytes, ReadBudget | None]:
    """Return the decompressed body, and the memory that parsing it may use.

    A damaged body is decompressed as far as possible, as on Triton.

    Returns
    -------
    tuple of bytes and ReadBudget or None
        None for a body that was not compressed: the client sent all of it.

    Raises
    ------
    UnknownEncodingError
        The header names another compression.
    RequestError
        The body is empty.
    ReadLimitError
        The decompressed body is too large.

    References
    ----------
    server: src/data_compressor.h, DecompressData
    """
    encoding = headers.get("Content-Encoding")
    if encoding in (None, IDENTITY):
        return body, None
    if encoding not in (GZIP, DEFLATE):
        raise UnknownEncodingError
    if not body:
        raise RequestError("nothing to be decompressed")
    budget = ReadBudget(len(body), "the compressed body")
    return budget.read(Inflated(body)), budget


def accepted_encoding(headers: Mapping[str, str]) -> str:
    """Return the compression that a client prefers among Triton's.

    References
    ----------
    server: src/http_server.cc, CompressionTypeUsed
    """
    chosen, most = IDENTITY, 0.0
    for each in headers.get("Accept-Encoding", "").split(","):
        name, comma, text = each.partition(";q=")
        number = _WEIGHT.match(text) if comma else None
        weight = float(number[0]) if number else float(not comma)
        name = name.lstrip(" ")
        if name in (IDENTITY, DEFLATE, GZIP) and weight > most:
            chosen, most = name, weight
    return chosen


def compressed(body: bytes, encoding: str) -> bytes:
    """Return a body compressed with gzip or deflate."""
    if encoding == GZIP:
        return gzip.compress(body, 6, mtime=0)
    return zlib.compress(body)
