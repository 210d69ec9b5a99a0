"""Specification of JSON text in the form of Triton's writer."""

import pytest

from blsnb.pb_utils.compiled.json_text import bytes_of, text_of


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1.0"),
        (-2.5e20, "-250000000000000000000.0"),
        (1e20, "100000000000000000000.0"),
        (1.25e21, "1.25e21"),
        (1e21, "1e21"),
        (1.5e-6, "0.0000015"),
        (1e-7, "1e-7"),
        (-1.5e-7, "-1.5e-7"),
        (1e300, "1e300"),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (-float("inf"), "-Infinity"),
    ],
)
def test_a_float_has_an_exponent_only_if_it_is_far_from_one(value, text):
    """Up to 21 digits before the point, and down to 1e-6, it has none."""
    assert text == text_of(value)
    assert f"[{text},0.5]" == text_of([value, 0.5])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (2**70, str(2**70)),
        ("é\n\x1f\\u00ab", '"é\\n\\u001F\\\\u00ab"'),
        ([1, True, None, "\x0b"], '[1,true,null,"\\u000B"]'),
        ([], "[]"),
        ([[1], {"a": 1e-9}, 2.0, "x"], '[[1],{"a":1e-9},2.0,"x"]'),
        ({"a": [1.5, 1e30], "b": {}}, '{"a":[1.5,1e30],"b":{}}'),
    ],
)
def test_values_have_no_spaces_and_upper_case_escapes(value, text):
    """Nested lists and dicts, too."""
    assert text == text_of(value)


def test_undecodable_bytes_are_restored():
    """A string that was read from such bytes is written as it was."""
    assert b'"\xff\xc3\xa9"' == bytes_of(
        b"\xff\xc3\xa9".decode("utf-8", "surrogateescape")
    )
