"""Specification of the conversion of infer()'s inputs."""

import ml_dtypes
import numpy as np
import pytest

from blsnb.errors import InputError
from blsnb.tensors.convert import to_ref
from blsnb.tensors.dtypes import BY_DATATYPE

FP32, INT8 = BY_DATATYPE["FP32"], BY_DATATYPE["INT8"]
BF16, BYTES = BY_DATATYPE["BF16"], BY_DATATYPE["BYTES"]


def test_an_array_keeps_its_own_type():
    """Arrays are never cast; the server refuses a wrong type."""
    ref = to_ref("X", np.arange(3), FP32, 1)

    assert "INT64" == ref.dtype.datatype


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        ([1, 2], FP32, [1.0, 2.0]),
        ([1.0, -3.0], INT8, [1, -3]),
        (7, INT8, [7]),
        (0.1, FP32, [np.float32(0.1)]),
        ("text", BYTES, [b"text"]),
        (["a", b"\xff"], BYTES, [b"a", b"\xff"]),
    ],
)
def test_lists_numbers_and_strings_take_the_configured_type(value, dtype, expected):
    """A value without a type gets the model's; a scalar gets its axes."""
    assert expected == to_ref("X", value, dtype, 1).view().tolist()


@pytest.mark.parametrize(
    ("value", "dtype"),
    [([1.7], INT8), ([300], INT8), ([1e40], FP32), ("text", FP32), ([None], FP32)],
)
def test_a_lossy_conversion_is_refused(value, dtype):
    """A value that the type cannot hold is an error that names both."""
    with pytest.raises(InputError, match=f"input 'X' is {dtype.datatype}"):
        to_ref("X", value, dtype, 1)


def test_none_is_refused():
    """The error suggests leaving the input out."""
    with pytest.raises(InputError, match="leave it out"):
        to_ref("X", None, FP32, 1)


def test_a_type_that_triton_lacks_is_refused():
    """Complex numbers have no Triton type."""
    with pytest.raises(InputError, match="no type for NumPy's complex128"):
        to_ref("X", np.zeros(2, complex), None, 1)


@pytest.mark.parametrize(
    "value",
    [
        [1.5, -2.0],
        np.array([1.5, -2.0], np.float32),
        np.array([1.5, -2.0], ml_dtypes.bfloat16),
    ],
    ids=["list", "float32", "bfloat16"],
)
def test_bf16_comes_from_lists_float32_and_ml_dtypes(value):
    """The upper halves of float32 are used, as by tritonclient."""
    ref = to_ref("X", value, BF16, 1)

    assert "BF16" == ref.dtype.datatype
    assert [1.5, -2.0] == ref.view().tolist()
    assert 4 == ref.byte_size


def test_unicode_arrays_are_strings():
    """NumPy's fixed-width strings are sent as BYTES."""
    assert [b"ab", b"c"] == to_ref("X", np.array(["ab", "c"]), BYTES, 1).view().tolist()
