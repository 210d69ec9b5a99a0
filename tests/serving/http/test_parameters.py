"""Parameters of requests in JSON, as models receive them."""

from __future__ import annotations

import pytest

from blsnb.serving.http import infer
from blsnb.serving.http.parameters import custom, parameters_of

FIELDS = {
    "sequence_id": "s",
    "sequence_start": True,
    "sequence_end": False,
    "priority": 2,
    "timeout": 3,
}


def test_fields_of_a_request_are_no_parameters_of_its_model() -> None:
    """The option of the protocol reaches the model neither."""
    document = {"parameters": {**FIELDS, "binary_data_output": True, "scale": 2}}

    found = parameters_of(document)
    assert (FIELDS, True, {"scale": 2}) == (
        found.reserved,
        found.protocol_option,
        found.custom,
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (7, 7),
        (-(2**63), -(2**63)),
        (2**63, 2.0**63),
        (-(2**63) - 1, -(2.0**63)),
        (1.0, 1.0),
        (True, True),
        ("7", "7"),
    ],
)
def test_an_integer_that_exceeds_64_bits_is_a_double(
    value: object, expected: object
) -> None:
    """Other values keep their type."""
    found = custom("scale", value)

    assert (type(expected), expected) == (type(found), found)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12),
        (" +7 bytes", 7),
        ("-3", -3),
        ("", 0),
        ("x1", 0),
        ("2147483648", -(2**31)),
        ("-4294967295", 1),
        ("9223372036854775808", -1),
        ("-9223372036854775809", 0),
    ],
)
def test_the_size_of_a_header_is_read_as_c_reads_numbers(
    text: str, number: int
) -> None:
    """What follows the digits is ignored, and 32 bits are kept."""
    assert number == infer._atoi(text)
