"""Specification of the table of type spellings."""

import numpy as np
import pytest

from blsnb.tensors import dtypes
from blsnb.tensors.dtypes import BF16, BYTES, DTYPES


def test_triton_dtypes_count_from_one_in_the_order_of_the_table():
    """The numbers are those of Triton's DataType enumeration."""
    assert list(range(1, 15)) == [row.triton_dtype for row in DTYPES]


def test_bytes_alone_is_spelled_differently_in_a_configuration():
    """TYPE_STRING is BYTES on the wire; every other name only loses its prefix."""
    odd = [r for r in DTYPES if r.data_type.removeprefix("TYPE_") != r.datatype]

    assert [("TYPE_STRING", "BYTES")] == [(r.data_type, r.datatype) for r in odd]


@pytest.mark.parametrize("row", DTYPES, ids=lambda row: row.datatype)
def test_every_lookup_leads_to_the_same_row(row):
    """The lookups are derived from the table, so no two can disagree."""
    assert row is dtypes.BY_DATA_TYPE[row.data_type]
    assert row is dtypes.BY_DATATYPE[row.datatype]
    if row.dtype is not None:
        assert row is dtypes.of_array(row.dtype)


@pytest.mark.parametrize(
    "row", [r for r in DTYPES if r not in (BYTES, BF16)], ids=lambda row: row.datatype
)
def test_an_element_takes_as_many_bytes_as_numpy_says(row):
    """The byte size of an element is that of its NumPy type."""
    assert row.dtype.itemsize == row.byte_size


def test_byte_strings_of_any_length_are_bytes():
    """NumPy's fixed-length byte strings are BYTES tensors."""
    assert BYTES is dtypes.of_array(np.dtype("S7"))


@pytest.mark.parametrize("name", ["complex64", "U5", "datetime64[s]", ">i4"])
def test_a_type_that_triton_does_not_have_has_no_row(name):
    """Nothing is converted silently, also not another machine's byte order."""
    assert None is dtypes.of_array(np.dtype(name))
