"""Read export requests of OpenTelemetry: JSON or protobuf, compressed or not."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from blsnb.files.read_budget import Inflated, ReadBudget
from blsnb.otlp import protobuf_form
from blsnb.otlp.protobuf_form import JSON_TYPE, PROTOBUF_TYPE

MAX_BODY_BYTES = 64 << 20
"""Maximum size of a request in bytes, before and after decompression."""
_MEMORY_BYTES = 512 << 20
"""Maximum memory in bytes for reading a request."""
_MAX_NS = (1 << 63) - 1
_MAX_TEXT = 1000
"""Maximum number of characters kept of a name or a text."""
_MAX_EVENTS = 1000
"""Maximum number of events kept of a span."""
_MAX_ATTRIBUTES = 64
_TRACE_ID, _SPAN_ID = (re.compile(rf"[0-9a-fA-F]{{{n}}}") for n in (32, 16))
_NO_FACTS: Mapping[str, Any] = {}


class UnsupportedTypeError(ValueError):
    """A request has a content type or an encoding that is not supported."""


class SpanEvent(NamedTuple):
    """A named time of a span."""

    name: str
    ns: int
    attributes: Mapping[str, Any] = _NO_FACTS


class ReceivedSpan(NamedTuple):
    """A span as its sender described it; ids are hexadecimal digits."""

    trace_id: str
    span_id: str
    parent_id: str
    """Empty without a parent."""
    name: str
    start_ns: int
    """Nanoseconds since 1970, as all times of spans."""
    end_ns: int
    events: tuple[SpanEvent, ...]
    attributes: Mapping[str, Any]
    is_error: bool
    status_text: str
    state: str

    @property
    def size(self) -> int:
        """Approximate bytes of memory."""
        facts = sum(_FACT_BYTES + _length(v) for v in self.attributes.values())
        for event in self.events:
            facts += _EVENT_BYTES
            facts += sum(_FACT_BYTES + _length(v) for v in event.attributes.values())
        return _SPAN_BYTES + len(self.name) + len(self.status_text) + facts


_SPAN_BYTES, _EVENT_BYTES, _FACT_BYTES = 600, 120, 150


def _length(value: Any) -> int:
    if isinstance(value, list):
        return sum(_FACT_BYTES + _length(each) for each in value)
    return len(value) if isinstance(value, str | bytes) else 0


class Decoded(NamedTuple):
    """The spans of a request, and the number of those that are malformed."""

    spans: list[ReceivedSpan]
    rejected: int


def decode(body: bytes, content_type: str, encoding: str = "") -> Decoded:
    """Return the spans of a request.

    Parameters
    ----------
    content_type, encoding
        Headers ``Content-Type`` and ``Content-Encoding``.

    Raises
    ------
    ImportError
        It is protobuf, and opentelemetry-proto is not installed.
    ReadLimitError
        It is too large when it is decompressed, or reading it needs too much memory.
    UnsupportedTypeError
        Its type or its encoding is not supported.
    ValueError
        It is malformed.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind not in (JSON_TYPE, PROTOBUF_TYPE):
        raise UnsupportedTypeError(
            f"Content-Type {content_type[:80]!r} is not supported; expected "
            f"{JSON_TYPE} or {PROTOBUF_TYPE}"
        )
    whole = _inflated(body, encoding.strip().lower())
    if kind == PROTOBUF_TYPE:
        return decode_document(protobuf_form.decode(whole))
    return decode_json(whole)


def decode_json(text: bytes) -> Decoded:
    """Return the spans of a request in OTLP/JSON; errors as of `decode`."""
    ReadBudget(len(text), "the request", _MEMORY_BYTES).spend_json(text)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the request is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise ValueError("the request is not an object of JSON with resourceSpans")
    return decode_document(document)


def decode_document(document: Mapping[str, Any]) -> Decoded:
    """Return the spans of a request that was parsed."""
    found, rejected = [], 0
    for resource in _listed(document, "resourceSpans"):
        for scope in _listed(resource, "scopeSpans"):
            for described in _listed(scope, "spans"):
                span = _span(described)
                if span is None:
                    rejected += 1
                else:
                    found.append(span)
    return Decoded(found, rejected)


def _inflated(body: bytes, encoding: str) -> bytes:
    if encoding in ("", "identity"):
        return body
    if encoding != "gzip":
        raise UnsupportedTypeError(
            f"Content-Encoding {encoding[:80]!r} is not supported; expected gzip"
        )
    budget = ReadBudget(len(body), "the compressed request", MAX_BODY_BYTES)
    stream = Inflated(body)
    whole = budget.read(stream)
    if not stream.whole:
        raise ValueError("the request is not complete gzip data")
    return whole


def _listed(holder: Any, name: str) -> list[Any]:
    found = holder.get(name) if isinstance(holder, dict) else None
    return found if isinstance(found, list) else []


def _span(described: Any) -> ReceivedSpan | None:
    """Return a span; None if it has no valid ids or times."""
    if not isinstance(described, dict):
        return None
    trace_id = _id(described.get("traceId"), _TRACE_ID)
    span_id = _id(described.get("spanId"), _SPAN_ID)
    start_ns = _ns(described.get("startTimeUnixNano"))
    end_ns = _ns(described.get("endTimeUnixNano"))
    if not (trace_id and span_id and start_ns):
        return None
    status = described.get("status")
    status = status if isinstance(status, dict) else {}
    return ReceivedSpan(
        trace_id,
        span_id,
        _id(described.get("parentSpanId"), _SPAN_ID),
        _text(described.get("name")),
        start_ns,
        max(start_ns, end_ns),
        tuple(_events(described)),
        _attributes(described),
        status.get("code") in (2, "STATUS_CODE_ERROR"),
        _text(status.get("message")),
        _text(described.get("traceState")),
    )


def _events(described: dict[str, Any]) -> Iterator[SpanEvent]:
    for event in _listed(described, "events")[:_MAX_EVENTS]:
        if isinstance(event, dict) and (ns := _ns(event.get("timeUnixNano"))):
            yield SpanEvent(_text(event.get("name")), ns, _attributes(event))


def _attributes(holder: dict[str, Any]) -> Mapping[str, Any]:
    found = {}
    for each in _listed(holder, "attributes")[:_MAX_ATTRIBUTES]:
        if isinstance(each, dict) and isinstance(each.get("key"), str):
            found[_text(each["key"])] = _value(each.get("value"))
    return found or _NO_FACTS


def _value(value: Any) -> Any:
    """Return the value of an attribute; None if it has another kind."""
    match value:
        case {"stringValue": str(text)}:
            return text
        case {"intValue": number}:
            return _int(number)
        case {"boolValue": bool(plain)} | {"doubleValue": float(plain) | int(plain)}:
            return plain
        case {"arrayValue": {"values": list(values)}}:
            return [_value(each) for each in values[:_MAX_EVENTS] if _flat(each)]
        case {"bytesValue": str(text)}:
            try:
                return base64.b64decode(text)
            except ValueError:
                return None
    return None


def _flat(value: Any) -> bool:
    return isinstance(value, dict) and "arrayValue" not in value


def _id(value: Any, pattern: re.Pattern[str]) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        return ""
    return value.lower() if int(value, 16) else ""


def _ns(value: Any) -> int:
    number = _int(value)
    return number if 0 < number <= _MAX_NS else 0


def _int(value: Any) -> int:
    """Return an integer, which OTLP/JSON may write as a string; 0 if it is invalid."""
    if isinstance(value, str) and len(value) <= 20:
        try:
            return int(value)
        except ValueError:
            return 0
    return value if type(value) is int else 0


def _text(value: Any) -> str:
    return value[:_MAX_TEXT] if isinstance(value, str) else ""
