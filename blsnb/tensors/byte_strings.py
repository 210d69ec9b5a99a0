"""BYTES tensors on the wire: each element a 4-byte length, then its bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from blsnb.printable import counted

_LENGTH = struct.Struct("<I")
_Array = np.ndarray[Any, Any]


def pack(elements: Iterable[Any]) -> bytes:
    """Serialise elements: bytes verbatim, other objects as the UTF-8 of their str.

    Those of a subclass, such as NumPy's, are other objects: ``b'…'`` on Triton, too.
    """
    parts: list[bytes] = []
    for element in elements:
        data = element if type(element) is bytes else str(element).encode("utf-8")
        parts += _LENGTH.pack(len(data)), data
    return b"".join(parts)


def pack_array(array: _Array) -> bytes:
    """Serialise an object or byte-string array in C order of its logical shape."""
    return pack(array.ravel(order="C").tolist())


def unpack(data: bytes) -> list[bytes]:
    """Return the elements of serialised data.

    Raises
    ------
    struct.error
        A length is truncated.
    ValueError
        An element is truncated.
    """
    elements: list[bytes] = []
    offset = 0
    while offset < len(data):
        (length,) = _LENGTH.unpack_from(data, offset)
        offset += _LENGTH.size
        if offset + length > len(data):
            left, size = len(data) - offset, counted(length, "byte")
            raise ValueError(f"of an element of {size} only {left} are left")
        elements.append(data[offset : offset + length])
        offset += length
    return elements


def object_array(elements: Sequence[Any]) -> _Array:
    """Return elements as a flat object array, whatever their type."""
    array = np.empty(len(elements), dtype=np.object_)
    array[:] = elements
    return array


def unpack_array(data: bytes, shape: tuple[int, ...]) -> _Array:
    """Return the elements as an object array of ``bytes`` in the given shape."""
    return object_array(unpack(data)).reshape(shape)


def check(data: bytes | memoryview, count: int) -> None:
    """Check that serialised data has the given number of elements, without a copy.

    Raises
    ------
    ValueError
        A length or an element is truncated, or the number differs.
    """
    found = offset = 0
    while offset < len(data) and found <= count:
        if offset + _LENGTH.size > len(data):
            raise ValueError(f"the length of element {found} is truncated")
        (length,) = _LENGTH.unpack_from(data, offset)
        offset += _LENGTH.size + length
        found += 1
    if offset != len(data) or found != count:
        raise ValueError(
            f"{counted(len(data), 'byte')}, not {counted(count, 'element')}"
        )
