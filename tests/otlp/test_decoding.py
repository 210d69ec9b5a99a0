"""Specification of how export requests of any sender are read."""

from __future__ import annotations

import json

import pytest

from blsnb.otlp.decoding import SpanEvent, UnsupportedTypeError, decode, decode_document

TRACE, SPAN = "0A" * 16, "0b" * 8
ANY = {"traceId": TRACE, "spanId": SPAN, "startTimeUnixNano": "5"}


def decoded(*spans):
    return decode_document(
        {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}
    )


def one(**fields):
    [span] = decoded(ANY | fields).spans
    return span


def attribute(value):
    """Return the value that is kept of an attribute."""
    return one(attributes=[{"key": "k", "value": value}]).attributes["k"]


def test_a_span_needs_only_its_ids_and_its_start():
    """All else is empty; it ends when it starts."""
    span = one()

    assert (TRACE.lower(), SPAN, "", "") == span[:4]
    assert (5, 5) == (span.start_ns, span.end_ns)
    assert ((), {}, False, "", "") == span[6:]


@pytest.mark.parametrize(
    "fields",
    [
        {"traceId": "0a" * 15},
        {"traceId": "00" * 16},
        {"traceId": 10},
        {"spanId": "0b" * 9},
        {"spanId": "xy" * 8},
        {"startTimeUnixNano": "0"},
        {"startTimeUnixNano": -1},
        {"startTimeUnixNano": 1 << 63},
        {"startTimeUnixNano": "soon"},
        {"startTimeUnixNano": 5.0},
        {"startTimeUnixNano": True},
        {"startTimeUnixNano": "000000000000000000005"},
    ],
    ids=repr,
)
def test_a_span_without_valid_ids_and_start_is_rejected(fields):
    """It is counted, the others are kept."""
    found = decoded(ANY | fields, ANY, "text")

    assert (1, 2) == (len(found.spans), found.rejected)


def test_times_are_numbers_or_texts():
    """The largest has 63 bits; a span does not end before it starts."""
    assert (1 << 63) - 1 == one(startTimeUnixNano=(1 << 63) - 1).start_ns
    assert 7 == one(endTimeUnixNano="00000000000000000007").end_ns
    assert 5 == one(endTimeUnixNano=4).end_ns


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"code": 2, "message": "bad"}, (True, "bad")),
        ({"code": "STATUS_CODE_ERROR"}, (True, "")),
        ({"code": 1, "message": "ok"}, (False, "ok")),
        ({"message": 3}, (False, "")),
        ("bad", (False, "")),
    ],
)
def test_a_status_is_an_error_or_none(status, expected):
    """As a number, as of protobuf, or as its name."""
    span = one(status=status)

    assert expected == (span.is_error, span.status_text)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"stringValue": "text"}, "text"),
        ({"intValue": "-3"}, -3),
        ({"intValue": 3}, 3),
        ({"boolValue": True}, True),
        ({"doubleValue": 0.5}, 0.5),
        ({"doubleValue": 3}, 3),
        ({"bytesValue": "AAE="}, b"\0\1"),
        ({"bytesValue": "A"}, None),
        ({"bytesValue": "é"}, None),
        ({"arrayValue": {"values": [{"intValue": 1}, {"intValue": "2"}]}}, [1, 2]),
        ({"arrayValue": {"values": [{"arrayValue": {}}, 3, {"intValue": 1}]}}, [1]),
        ({"arrayValue": {"values": [{"intValue": 1}] * 1001}}, [1] * 1000),
        ({"arrayValue": {}}, None),
        ({"kvlistValue": {}}, None),
        ("text", None),
    ],
)
def test_an_attribute_has_a_plain_value(value, expected):
    """None where the value is malformed or of another kind."""
    assert expected == attribute(value)


def test_events_have_a_name_a_time_and_attributes():
    """Malformed ones are left out."""
    facts = [{"key": "k", "value": {"intValue": 1}}]
    events = [
        {"name": "a", "timeUnixNano": 6, "attributes": facts},
        {"name": "b", "timeUnixNano": 0},
        {"timeUnixNano": 7},
        "c",
    ]

    assert (SpanEvent("a", 6, {"k": 1}), SpanEvent("", 7)) == one(events=events).events


def test_long_lists_and_texts_are_cut():
    """A sender cannot fill the memory with one span."""
    events = [{"timeUnixNano": 6}] * 1001
    facts = [{"key": f"{number}", "value": {}} for number in range(65)]
    span = one(name="n" * 1001, events=events, attributes=[{"key": 3}, *facts])

    assert (1000, 1000, 63) == (len(span.name), len(span.events), len(span.attributes))


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (
            ("text/plain",),
            "Content-Type 'text/plain' is not supported; expected application/json or "
            "application/x-protobuf",
        ),
        (
            ("application/json", "br"),
            "Content-Encoding 'br' is not supported; expected gzip",
        ),
    ],
)
def test_another_type_or_encoding_is_refused(headers, expected):
    """The text names the supported ones."""
    with pytest.raises(UnsupportedTypeError) as raised:
        decode(b"{}", *headers)

    assert expected == str(raised.value)


@pytest.mark.parametrize("encoding", ["", "identity", " Identity "])
def test_headers_are_read_without_case_and_parameters(encoding):
    """As in any HTTP request."""
    text = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [ANY]}]}]})
    found = decode(text.encode(), " Application/JSON; charset=utf-8", encoding)

    assert [SPAN] == [span.span_id for span in found.spans]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"[]", "an object of JSON with resourceSpans$"),
        (b"{", "JSON: Expecting property name enclosed in double quotes"),
        (b"[" * 100_000, "JSON: "),
        (b"\xff", "JSON: 'utf-8' codec can't decode byte 0xff"),
    ],
)
def test_a_request_that_is_no_object_of_json_is_refused(text, reason):
    """Also one that is nested too deeply to be read."""
    with pytest.raises(ValueError, match=rf"^the request is not {reason}"):
        decode(text, "application/json")


@pytest.mark.parametrize("body", [{}, {"resourceSpans": 3}, {"resourceSpans": [[]]}])
def test_a_request_without_spans_has_none(body):
    """Senders may send empty lists, or fields of later releases."""
    assert ([], 0) == decode_document(body)


def test_the_memory_of_a_list_is_that_of_its_texts():
    """A list of long texts counts as much as the texts alone."""
    text = {"stringValue": "t" * 100_000}
    value = {"arrayValue": {"values": [text, text]}}

    assert one(attributes=[{"key": "k", "value": value}]).size > 200_000
