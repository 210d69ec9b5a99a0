"""Specification of the kept values of an evaluation: how large they are."""

import numpy as np
import pytest

from blsnb.evaluation.result.columns import value_bytes


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (3.5, 8),
        (None, 8),
        ("text", 4),
        (b"ab", 2),
        ([], 0),
        ([1, "abc", [2.0]], 19),
        (np.zeros((2, 3), np.float32), 24),
        (np.array([b"a", b"bcd"], np.object_), 20),
    ],
)
def test_a_value_has_a_size_in_bytes(value, size):
    """Text counts with its characters, a number and a text of an array with 8 more."""
    assert size == value_bytes(value)
