"""Parameters of requests and responses: their types and limits."""

from __future__ import annotations

import pytest

from blsnb.pb_utils.compiled.parameters import are_int64


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        (2**63 - 1, True),
        (2**63, False),
        (-(2**63), True),
        (-(2**63) - 1, False),
        (True, True),
        ("2" * 30, True),
    ],
)
def test_each_integer_fits_64_bits(value: bool | int | str, fits: bool) -> None:
    """The server has no larger ones."""
    assert fits == are_int64([("a", 1), ("b", value)])
