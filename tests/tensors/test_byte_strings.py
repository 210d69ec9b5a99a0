"""Specification of BYTES tensors on the wire."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blsnb.tensors import byte_strings


@given(st.lists(st.binary(max_size=40), max_size=12))
def test_packed_elements_are_unpacked_unchanged(elements):
    """Empty elements and ones that look like lengths survive."""
    assert elements == byte_strings.unpack(byte_strings.pack(elements))


@given(st.text(max_size=30))
def test_text_is_packed_as_utf_8(text):
    """A str element is sent as its UTF-8."""
    try:
        expected = text.encode("utf-8")
    except UnicodeEncodeError:
        with pytest.raises(UnicodeEncodeError):
            byte_strings.pack([text])
        return

    assert [expected] == byte_strings.unpack(byte_strings.pack([text]))


def test_an_element_is_its_length_in_four_little_endian_bytes_and_its_bytes():
    """The layout is the one of Triton's clients and backends."""
    assert b"\x02\x00\x00\x00hi\x00\x00\x00\x00" == byte_strings.pack([b"hi", b""])


def test_other_objects_are_packed_as_their_text():
    """A number in an object array is packed as Python prints it."""
    assert [b"3", b"None"] == byte_strings.unpack(byte_strings.pack([3, None]))


@given(st.lists(st.binary(max_size=9), min_size=6, max_size=6))
def test_an_array_keeps_its_shape_and_logical_order(elements):
    """A transposed array is packed in the order of its own shape."""
    array = np.empty(6, np.object_)
    array[:] = elements
    transposed = array.reshape(2, 3).T

    found = byte_strings.unpack_array(byte_strings.pack_array(transposed), (3, 2))

    assert transposed.tolist() == found.tolist()


@given(st.lists(st.binary(max_size=9), max_size=6))
def test_whole_elements_pass_the_check_by_their_number_only(elements):
    """Empty elements count, too."""
    data = byte_strings.pack(elements)
    byte_strings.check(data, len(elements))

    with pytest.raises(ValueError, match=f", not {len(elements) + 1} element"):
        byte_strings.check(data, len(elements) + 1)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\x01", "the length of element 0 is truncated"),
        (b"\0\0\0\0\x01\0\0", "the length of element 1 is truncated"),
        (b"\x02\0\0\0a", "5 bytes, not 1 element"),
    ],
)
def test_truncated_elements_do_not_pass_the_check(data, text):
    """The error names the first element without a length."""
    with pytest.raises(ValueError, match=text):
        byte_strings.check(data, 1)


def test_a_truncated_length_is_refused():
    """Data that end inside a length are not BYTES data."""
    with pytest.raises(struct.error):
        byte_strings.unpack(b"\x01\x00")


def test_a_truncated_element_is_refused_with_its_size():
    """Data that end inside an element are not BYTES data."""
    with pytest.raises(ValueError, match=r"of 9 bytes only 2 are left$"):
        byte_strings.unpack(b"\x09\x00\x00\x00ab")
