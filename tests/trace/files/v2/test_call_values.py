"""Specification of the values of calls in run files."""

import math

import pytest

from blsnb.runtimes.runtime import DeviceUse
from blsnb.tensors.dtypes import DType
from blsnb.trace.events import LogLine
from blsnb.trace.facts import Batching, Copy
from blsnb.trace.files.checked import Malformed
from blsnb.trace.files.v2 import call_values
from blsnb.trace.files.v2.tensor_columns import new_tensor

LARGEST = 1 << 62
"""Largest time and size."""
COPY = [0, LARGEST, "X", LARGEST, "cpu", "gpu:0", True]


@pytest.mark.parametrize(
    ("read", "value", "expected"),
    [
        ("ns", LARGEST, LARGEST),
        ("log_line", [0, "INFO", "a"], LogLine(0, "INFO", "a")),
        (
            "batching",
            [2**32 - 1, False, "", "", ["a"], 2**32 - 1],
            Batching(2**32 - 1, False, "", "", ("a",), 2**32 - 1),
        ),
        ("copy", COPY, Copy(0, LARGEST, "X", LARGEST, "cpu", "gpu:0", True)),
        ("device_use", None, None),
        ("device_use", ["gpu:0", 1, 2, 3], DeviceUse("gpu:0", 1, 2, 3)),
        ("latency", [8 * 63, LARGEST], (8 * 63, LARGEST)),
        ("correlation_id", 2**64 - 1, 2**64 - 1),
        ("correlation_id", "a", "a"),
        ("parameter", ["a", -(2**63)], ("a", -(2**63))),
        ("parameter", ["a", True], ("a", True)),
        ("parameter", ["a", 0.5], ("a", 0.5)),
        ("parameter", ["a", ["inf"]], ("a", math.inf)),
    ],
)
def test_values_within_their_bounds_are_read(read, value, expected):
    """The largest values are among them."""
    assert expected == getattr(call_values, read)(value)


@pytest.mark.parametrize(
    ("read", "value"),
    [
        ("ns", LARGEST + 1),
        ("ns", -1),
        ("ns", True),
        ("ns", 0.5),
        ("log_line", [0, "INFO"]),
        ("log_line", [0, "INFO", 5]),
        ("batching", [2**32, False, "", "", [], 0]),
        ("batching", [0, False, "", "", [], 2**32]),
        ("batching", [0, 1, "", "", [], 0]),
        ("batching", [0, False, "", "", [5], 0]),
        ("batching", [0, False, "", "", "ab", 0]),
        ("copy", COPY[:-1]),
        ("copy", [*COPY[:-1], 1]),
        ("device_use", ["gpu:0", 1, 2]),
        ("device_use", [0, 1, 2, 3]),
        ("latency", [8 * 63 + 1, 1]),
        ("latency", [-1, 1]),
        ("latency", [0, -1]),
        ("correlation_id", -1),
        ("correlation_id", None),
        ("parameter", ["a"]),
        ("parameter", [5, 5]),
        ("parameter", ["a", None]),
        ("parameter", ["a", ["0x1p+0", "0x1p+0"]]),
        ("parameter", ["a", math.inf]),
    ],
)
def test_values_beyond_their_bounds_are_refused(read, value):
    """A file may have been changed by anyone."""
    with pytest.raises(Malformed):
        getattr(call_values, read)(value)


def test_a_tensor_of_an_unknown_type_has_its_name_and_no_value():
    """A newer server may have more types; the size is that of the file."""
    ref = new_tensor("X", "FP4", (2, 3), None, "gpu:0", 3)
    unsized = new_tensor("X", "FP4", (2, 3), None, "", None)

    assert DType("", "FP4", 0, None, 0) == ref.dtype
    assert (3, 0) == (ref.byte_size, unsized.byte_size)
    with pytest.raises(Malformed, match=r"no value for a FP4\[2, 3\]"):
        new_tensor("X", "FP4", (2, 3), b"abc", "", 3)
