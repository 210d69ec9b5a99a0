"""HttpAnswer: what comes with a request over HTTP, and what goes back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from blsnb.errors import OUT_OF_RESOURCES
from blsnb.pb_utils.compiled.json_text import bytes_of
from blsnb.serving.core.hangup import Hangup
from blsnb.serving.http.json_body import Json

JSON = "application/json"
PLAIN = "text/plain"
BINARY = "application/octet-stream"
EVENTS = "text/event-stream; charset=utf-8"
OK, BAD_REQUEST, FORBIDDEN, NOT_FOUND, NOT_ALLOWED = 200, 400, 403, 404, 405
_STATUSES = {
    "NOT_FOUND": NOT_FOUND,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    OUT_OF_RESOURCES: 503,
    "UNSUPPORTED": 501,
}
"""Of Triton's codes; of all others `BAD_REQUEST`."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request whose body is complete.

    Parameters
    ----------
    path
        As it was sent: nothing is decoded, and what follows a ``?`` is cut off.
    headers
        By name, whatever its case.
    hangup
        To be told what is to be cancelled when the client leaves a stream that has
        begun, or the port is closed.
    """

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    hangup: Hangup = field(default_factory=Hangup)


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What is sent back.

    Parameters
    ----------
    headers
        Beside the type and the length of the body.
    chunks
        Take the place of the body where it comes in parts.
    """

    status: int = OK
    body: bytes = b""
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()
    chunks: Iterator[bytes] | None = None


def json_answer(value: Json) -> HttpAnswer:
    """Return a value."""
    return HttpAnswer(body=bytes_of(value))


def status_of(code: str) -> int:
    """Return the status that Triton has for one of its codes."""
    return _STATUSES.get(code, BAD_REQUEST)


def error_body(message: str) -> bytes:
    """Return the body of every error."""
    return bytes_of({"error": message})


def error_event(message: str) -> bytes:
    """Return the event of a stream that tells an error."""
    return b"data: " + error_body(message) + b"\n\n"


def error_answer(
    message: str, code: str = "INVALID_ARG", content_type: str = JSON
) -> HttpAnswer:
    """Return an error with Triton's code."""
    return HttpAnswer(status_of(code), error_body(message), content_type)


def not_allowed(content_type: str = JSON) -> HttpAnswer:
    """Return what a wrong verb gets."""
    return HttpAnswer(NOT_ALLOWED, error_body("Method Not Allowed"), content_type)


def not_found() -> HttpAnswer:
    """Return what a path gets that leads nowhere."""
    return HttpAnswer(NOT_FOUND, error_body("Not Found"), PLAIN)
