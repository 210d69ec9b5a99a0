"""JSON texts as Triton's parser reads and its writer writes them."""

from __future__ import annotations

import contextlib
import json
import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blsnb.engine.request.validation import RequestError
from blsnb.pb_utils.compiled.json_text import bytes_of
from blsnb.serving.http import json_body
from blsnb.serving.http.json_body import Members, parse

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


FAILED = "failed to parse the request JSON buffer: "


def error_of(text: bytes) -> str:
    """Return the error for an invalid text."""
    with pytest.raises(RequestError) as caught:
        parse(text)
    assert "INTERNAL" == caught.value.code
    return caught.value.message.removeprefix(
        "failed to parse the request JSON buffer: "
    )


@given(VALUES)
def test_a_written_value_is_read(value: object) -> None:
    """It is equal to the last digit."""
    assert value == parse(bytes_of(value))


@given(VALUES)
def test_a_text_of_python_is_read(value: object) -> None:
    """Its escapes and spaces are valid."""
    assert value == parse(json.dumps(value, indent=1).encode())


@given(st.binary())
def test_any_bytes_are_read_or_refused(text: bytes) -> None:
    """No other exception is raised."""
    with contextlib.suppress(RequestError):
        parse(text)


@given(VALUES)
def test_the_scanner_changes_no_value(value: object) -> None:
    """What looks like a large exponent makes it check a text."""
    text = b'{"1e100":' + json.dumps(value).encode() + b"}"

    assert {"1e100": value} == parse(text)


def test_a_pair_of_surrogates_needs_no_scanner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large texts often have one: Python writes each emoji so."""
    monkeypatch.delattr(json_body, "_Scanner")

    assert ["\\😀"] == parse(b'["\\\\\\ud83d\\ude00"]')


def test_an_escaped_backslash_begins_no_pair() -> None:
    """The second half is then a lone surrogate of three bytes."""
    assert "\\ud83d\udced\udcb8\udc80" == parse(b'"\\\\ud83d\\ude00"')


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"[Inf, -Infinity, NInf]", [math.inf, -math.inf, math.inf]),
        (b'["Inf", -Inf]', ["Inf", -math.inf]),
        (b'"\\udcff \\\\udcff"', "\udced\udcb3\udcbf \\udcff"),
        (b"\xef\xbb\xbf5", 5),
        (b"5\0 and more", 5),
        (b"18446744073709551615", 2**64 - 1),
        (b'"\\ud800\\udc00"', "\U00010000"),
        (b"[" * 150 + b"]" * 150, None),
    ],
    ids=["infinity", "quoted", "low", "mark", "nul", "largest", "pair", "deep"],
)
def test_texts_that_only_triton_accepts(text: bytes, value: object) -> None:
    """They are not valid JSON."""
    found = parse(text)

    assert value is None or value == found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", "The document is empty. at 0"),
        (b'{"a":1,}', "Missing a name for object member. at 7"),
        (b'{"a" 1}', "Missing a colon after a name of object member. at 5"),
        (b"[1 2]", "Missing a comma or ']' after an array element. at 3"),
        (b"1 2", "The document root must not be followed by other values. at 2"),
        (b"0e999", "Number too big to be stored in double. at 0"),
        (b"[" * 1000, "Terminate parsing due to Handler error. at 200"),
        (b"Infin", "Invalid value. at 5"),
        (b'["\n"]', "Invalid escape character in string. at 2"),
        (b'["\xc3\xa9" 1]', "Missing a comma or ']' after an array element. at 6"),
    ],
)
def test_an_error_has_the_reason_and_the_offset(text: bytes, expected: str) -> None:
    """The text is Triton's; unlimited nesting is refused."""
    assert expected == error_of(text)


def test_the_first_of_repeated_members_counts() -> None:
    """The repetition is recorded."""
    found = parse(b'{"a": 1, "b": 2, "a": 3}')

    assert {"a": 1, "b": 2} == found
    assert isinstance(found, Members)
    assert ["a", "b", "a"] == found.names


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, b"1.0"),
        (1e16, b"10000000000000000.0"),
        (1e20, b"100000000000000000000.0"),
        (1e21, b"1e21"),
        (-1.5e30, b"-1.5e30"),
        (1e-5, b"0.00001"),
        (1.25e-6, b"0.00000125"),
        (1e-7, b"1e-7"),
        (math.inf, b"Infinity"),
        (struct.unpack("<f", struct.pack("<f", 0.1))[0], b"0.10000000149011612"),
        ('\x1f\n"\\u001f', b'"\\u001F\\n\\"\\\\u001f"'),
        ("a\udcff", b'"a\xff"'),
        ({"a": [1, 2.0, "b"], "c": {}}, b'{"a":[1,2.0,"b"],"c":{}}'),
    ],
)
def test_values_are_written_as_by_triton(value: object, text: bytes) -> None:
    """There are no spaces; numbers and control characters have Triton's form."""
    assert text == bytes_of(value)
