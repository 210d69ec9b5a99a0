"""Values of a JSON body: their types, and Triton's texts for other ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from blsnb.engine.request.validation import RequestError
from blsnb.serving.http import json_values
from blsnb.serving.http.json_body import Json

TEXT, NUMBER, LIST, OBJECT = "a", 1, [1], {"a": 1}


@pytest.mark.parametrize(
    ("convert", "accepted", "refused", "text"),
    [
        (
            json_values.as_text,
            ["", "a\0b"],
            [None, True, NUMBER, LIST, OBJECT],
            "access JSON non-string as string",
        ),
        (
            json_values.as_string,
            ["", TEXT],
            [None, True, NUMBER, LIST, OBJECT],
            "access JSON non-string as string",
        ),
        (
            json_values.as_boolean,
            [False, True],
            [None, 0, 1, TEXT, LIST, OBJECT],
            "access JSON non-boolean as boolean",
        ),
        (
            json_values.as_unsigned,
            [0, NUMBER, 2**64 - 1],
            [None, False, True, -1, 2**64, 1.0, TEXT, LIST, OBJECT],
            "access JSON non-unsigned-integer as unsigned-integer",
        ),
        (
            json_values.as_array,
            [[], LIST],
            [None, True, NUMBER, TEXT, OBJECT],
            "access JSON non-array as array",
        ),
        (
            json_values.as_object,
            [{}, OBJECT],
            [None, True, NUMBER, TEXT, LIST],
            "access JSON non-object as object",
        ),
        (
            json_values.members,
            [{}, OBJECT],
            [None, True, NUMBER, TEXT, LIST],
            "get members for non-object",
        ),
    ],
)
def test_a_value_has_one_type(
    convert: Callable[[Json], Any],
    accepted: list[Json],
    refused: list[Json],
    text: str,
) -> None:
    """Booleans are no integers, and integers have 64 bits."""
    assert accepted == [convert(each) for each in accepted]
    for other in refused:
        with pytest.raises(RequestError) as error:
            convert(other)
        assert (f"attempt to {text}", "INTERNAL") == (
            error.value.message,
            error.value.code,
        )


def test_a_string_ends_at_its_first_nul_and_is_valid() -> None:
    """Its whole text does not."""
    sent = "é\udcff\0b"

    assert ("é\N{REPLACEMENT CHARACTER}", sent) == (
        json_values.as_string(sent),
        json_values.as_text(sent),
    )


def test_a_member_may_be_required_or_optional() -> None:
    """An error names it, and what has no members lacks it."""
    value: Json = {"a": 1, "n": None}
    as_unsigned = json_values.as_unsigned

    assert [True, True, False, False] == [
        *(json_values.has(value, name) for name in "anb"),
        json_values.has("a", "a"),
    ]
    assert [1, None, None, None] == [
        *(json_values.find(value, name) for name in "anb"),
        json_values.find(["a"], "a"),
    ]
    assert (1, 1) == (json_values.member(value, "a"), json_values.parameter(value, "a"))
    assert (1, 1, 7) == (
        json_values.required(value, "a", as_unsigned),
        json_values.optional(value, "a", as_unsigned, 7),
        json_values.optional(value, "b", as_unsigned, 7),
    )


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (
            lambda value: json_values.member(value, "b"),
            "attempt to access non-existing object member 'b'",
        ),
        (
            lambda value: json_values.parameter(value, "b"),
            "parameter key 'b' was not found in the JSON",
        ),
        (
            lambda value: json_values.required(value, "b", json_values.as_text),
            "Unable to parse 'b': attempt to access non-existing object member 'b'",
        ),
        (
            lambda value: json_values.required(value, "a", json_values.as_text),
            "Unable to parse 'a': attempt to access JSON non-string as string",
        ),
        (
            lambda value: json_values.optional(value, "a", json_values.as_text, ""),
            "Unable to parse 'a': attempt to access JSON non-string as string",
        ),
        (
            lambda value: json_values.optional(
                value, "a", json_values.as_text, "", "invalid"
            ),
            "invalid 'a': attempt to access JSON non-string as string",
        ),
    ],
)
def test_a_missing_or_invalid_member_is_refused(
    read: Callable[[Json], Any], text: str
) -> None:
    """The text and the code are Triton's."""
    with pytest.raises(RequestError) as refused:
        read({"a": 1})

    assert (text, "INTERNAL") == (refused.value.message, refused.value.code)


def test_a_prefix_keeps_the_code_and_other_errors() -> None:
    """Only errors of requests are for clients."""
    with pytest.raises(RequestError) as refused, json_values.error_prefix("begin"):
        raise RequestError("end", "NOT_FOUND")
    with pytest.raises(ValueError, match=r"^end$"), json_values.error_prefix("begin"):
        raise ValueError("end")

    assert ("begin: end", "NOT_FOUND") == (refused.value.message, refused.value.code)
