"""BYTES tensors on the wire: each element a 4-byte length, then its bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

import numpy as np

_LENGTH = struct.Struct("<I")


def encode_element(element: Any) -> bytes:
    """Return an element's bytes: verbatim, or the UTF-8 of its ``str``."""
    if isinstance(element, bytes):
        return element
    return str(element).encode("utf-8")


def pack(elements: Iterable[Any]) -> bytes:
    """Serialise elements in order, each as length and bytes."""
    parts: list[bytes] = []
    for element in elements:
        data = encode_element(element)
        parts.append(_LENGTH.pack(len(data)))
        parts.append(data)
    return b"".join(parts)


def pack_array(array: np.ndarray[Any, Any]) -> bytes:
    """Serialise an object or byte-string array in C order of its logical shape."""
    return pack(array.ravel(order="C").tolist())


def unpack(data: bytes) -> list[bytes]:
    """Return the elements of serialised data.

    Raises
    ------
    struct.error
        A length is cut off.
    ValueError
        An element is cut off.
    """
    elements: list[bytes] = []
    offset = 0
    while offset < len(data):
        (length,) = _LENGTH.unpack_from(data, offset)
        offset += _LENGTH.size
        if offset + length > len(data):
            raise ValueError(
                f"an element of {length} bytes is announced where "
                f"{len(data) - offset} are left"
            )
        elements.append(data[offset : offset + length])
        offset += length
    return elements


def unpack_array(data: bytes, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return the elements as an object array of ``bytes`` in the given shape."""
    elements = unpack(data)
    array = np.empty(len(elements), dtype=np.object_)
    array[:] = elements
    return array.reshape(shape)


def check(data: bytes | memoryview, count: int) -> None:
    """Refuse serialised data that has not the given number of elements.

    Uses no memory, whatever the data say.

    Raises
    ------
    ValueError
        A length or an element is cut off, or the number is another one.
    """
    found = offset = 0
    while offset < len(data) and found <= count:
        if offset + _LENGTH.size > len(data):
            raise ValueError(f"the length of element {found} is cut off")
        (length,) = _LENGTH.unpack_from(data, offset)
        offset += _LENGTH.size + length
        found += 1
    if offset != len(data) or found != count:
        raise ValueError(f"{len(data):,} bytes are not {count:,} elements")
