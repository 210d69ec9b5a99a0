"""Parameters of requests in JSON, as models receive them."""

from __future__ import annotations

import pytest

from blsnb.serving.http.parameters import custom


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
