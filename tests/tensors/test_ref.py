"""Specification of frozen tensors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from blsnb.tensors.dtypes import BF16, BY_NUMPY, BYTES, DTYPES
from blsnb.tensors.ref import TensorRef, freeze

NUMERIC = [row.dtype for row in DTYPES if row not in (BYTES, BF16)]
shapes = arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


@given(st.sampled_from(NUMERIC).flatmap(lambda d: arrays.arrays(d, shapes)))
def test_frozen_elements_keep_their_bits(array):
    """For every datatype and shape, NaN included."""
    found = freeze("X", array, BY_NUMPY[array.dtype]).view()

    assert (array.shape, array.dtype) == (found.shape, found.dtype)
    assert array.tobytes() == found.tobytes()


@given(arrays.arrays(np.object_, shapes, elements=st.binary(max_size=8)))
def test_frozen_strings_are_bytes_objects(array):
    """A BYTES tensor keeps elements, shape and order."""
    assert array.tolist() == freeze("X", array, BYTES).view().tolist()


def test_a_strided_array_is_frozen_in_its_logical_order():
    """Layout in memory is not part of a tensor's value."""
    array = np.arange(24, dtype=np.int32).reshape(2, 3, 4).transpose(2, 0, 1)[::2]

    assert array.tolist() == freeze("X", array, BY_NUMPY[array.dtype]).view().tolist()


@pytest.mark.parametrize("datatype", ["FP32", "BYTES", "BF16"])
def test_a_view_cannot_be_written(datatype):
    """All receivers share the buffer."""
    row = next(row for row in DTYPES if row.datatype == datatype)
    view = TensorRef("X", row, (1,), b"\x00\x00\x00\x00"[: row.byte_size or 4]).view()

    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1


def test_writing_to_the_array_afterwards_does_not_reach_the_frozen_tensor():
    """Freezing copies the present contents."""
    array = np.zeros(2, np.int8)
    ref = freeze("X", array, BY_NUMPY[array.dtype])
    array[:] = 1

    assert [0, 0] == ref.view().tolist()


def test_bf16_is_widened_exactly():
    """A BF16 number is the upper half of the float32 that is shown."""
    ref = TensorRef(
        "X", BF16, (3,), np.array([0x3F80, 0xC000, 0x7FC0], "<u2").tobytes()
    )

    assert ["1.0", "-2.0", "nan"] == [str(float(value)) for value in ref.view()]


def test_an_evicted_tensor_keeps_its_description():
    """Name, type, shape, device and size; its value is an error."""
    ref = TensorRef("X", BYTES, (1,), b"\x01\x00\x00\x00a", "gpu:0").without_data()

    assert ref.evicted
    assert ("X", "BYTES", (1,), "gpu:0", 5) == (
        ref.name,
        ref.dtype.datatype,
        ref.shape,
        ref.device,
        ref.byte_size,
    )
    with pytest.raises(ValueError, match="'X' was evicted"):
        ref.view()


def test_the_repr_contains_type_and_shape_but_no_elements():
    """It is one line, however large the tensor."""
    ref = freeze("X", np.zeros((2, 3), np.float32), BY_NUMPY[np.dtype("float32")])

    assert "<TensorRef X FP32[2, 3]>" == repr(ref)
