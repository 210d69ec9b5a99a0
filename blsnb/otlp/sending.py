"""Send traces to an OpenTelemetry Collector over HTTP."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from blsnb.arguments import is_http_url, is_loopback
from blsnb.errors import CollectorError, TraceError
from blsnb.otlp import protobuf_form
from blsnb.otlp.encoding import document, spans_of
from blsnb.otlp.protobuf_form import JSON_TYPE, PROTOBUF_TYPE
from blsnb.printable import counted
from blsnb.trace.facts import ClockReading
from blsnb.trace.spans import Trace

FORMATS = ("json", "protobuf")
PATH = "/v1/traces"
MAX_SPANS = 512
"""Maximum number of spans in a message, as Triton's default."""
TIMEOUT_S = 10.0
_MAX_ANSWER = 64 << 10
_MAX_SHOWN = 200


def export(
    trace: Trace,
    clock: ClockReading | None,
    url: str,
    *,
    tensors: bool = False,
    format: str = "json",
) -> int:
    """Send the spans of a trace; return their number.

    Parameters
    ----------
    clock
        Offset between the times of the trace and the time of day; None if unknown.
    url, tensors, format
        As `Run.export_otlp` takes them.

    Raises
    ------
    CollectorError
        Nothing answers at the URL, or the spans are refused.
    ImportError
        opentelemetry-proto is required and not installed.
    TraceError
        The time of day of the trace is unknown.
    ValueError
        The URL or the format is invalid.
    """
    endpoint = endpoint_of(url)
    if format not in FORMATS:
        known = " or ".join(map(repr, FORMATS))
        raise ValueError(f"format={format!r} is not valid; expected {known}")
    if clock is None:
        raise TraceError(
            "this run was read from a file without the time of day, which OpenTelemetry"
            " spans need; export a run of a server, or one saved as .blsrun"
        )
    spans = spans_of(trace, clock, tensors=tensors)
    for start in range(0, len(spans), MAX_SPANS):
        send(document(spans[start : start + MAX_SPANS]), endpoint, format)
    return len(spans)


def endpoint_of(url: str) -> str:
    """Return the URL to which spans are sent; a URL without a path gets OTLP's.

    Raises
    ------
    ValueError
        It is not a URL of HTTP.
    """
    if not is_http_url(url):
        raise ValueError(
            f"url={url!r} is not valid; expected a URL such as "
            f"'http://127.0.0.1:4318{PATH}'"
        )
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=PATH)) if parts.path in ("", "/") else url


def send(
    request: dict[str, Any],
    endpoint: str,
    format: str = "json",
    timeout_s: float = TIMEOUT_S,
) -> None:
    """Send one export request, and wait for the answer.

    Raises
    ------
    CollectorError
        Nothing answers in time, or the request is refused.
    ImportError
        The format is ``"protobuf"``, and opentelemetry-proto is not installed.
    """
    if format == "json":
        body = json.dumps(request, separators=(",", ":")).encode()
        content_type = JSON_TYPE
    else:
        body, content_type = protobuf_form.encode(request), PROTOBUF_TYPE
    headers = {"Content-Type": content_type}
    message = urllib.request.Request(endpoint, body, headers)
    try:
        with opener_for(endpoint).open(message, timeout=timeout_s) as answer:
            _check_answer(answer.read(_MAX_ANSWER), endpoint)
    except urllib.error.HTTPError as error:
        with error:
            text = error.read(_MAX_ANSWER).decode("utf-8", "replace")[:_MAX_SHOWN]
        raise CollectorError(
            f"{endpoint} refuses the spans: HTTP {error.code} {text or error.reason}"
        ) from error
    except OSError as error:
        reason = getattr(error, "reason", error)
        raise CollectorError(
            f"{endpoint} does not respond: {reason}. Check that a Collector listens "
            "there."
        ) from error
    except HTTPException as error:
        raise CollectorError(
            f"{endpoint} does not respond with HTTP; use the Collector's port for HTTP,"
            " by default 4318, not the one for gRPC"
        ) from error


def opener_for(url: str) -> urllib.request.OpenerDirector:
    """Return an opener that reaches this machine without a proxy."""
    if is_loopback(urlsplit(url).hostname or ""):
        return urllib.request.build_opener(urllib.request.ProxyHandler({}))
    return urllib.request.build_opener()


def _check_answer(body: bytes, endpoint: str) -> None:
    """Check that all spans were accepted; only an answer in JSON is read."""
    try:
        partial = json.loads(body or b"{}").get("partialSuccess") or {}
        rejected = int(partial.get("rejectedSpans", 0))
    except (ValueError, AttributeError, TypeError):
        return
    if rejected:
        reason = str(partial.get("errorMessage", ""))[:_MAX_SHOWN]
        raise CollectorError(
            f"{endpoint} refuses {counted(rejected, 'span')}: {reason}"
        )
