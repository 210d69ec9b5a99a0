"""Tensors of a run file, version 1: a table of descriptions, their bytes in a row."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from blsnb.tensors.dtypes import BY_DATATYPE, BYTES, DType
from blsnb.tensors.ref import TensorRef
from blsnb.trace.files import checked
from blsnb.trace.files.checked import Malformed

_MOST_DIMS = 32
_MOST_BYTES = 1 << 62
_ABSENT = -1


def read_tensors(described: Any, sizes: Any, data: bytes) -> tuple[TensorRef, ...]:
    """Return the tensors of a table.

    Parameters
    ----------
    described, sizes
        What the file says: the table, and how many bytes each value has.
    data
        The values, one after the other.

    Raises
    ------
    Malformed
        They do not go together.
    """
    values = list(_values(checked.listed(sizes, _size), data))
    return checked.listed(described, lambda row: _tensor(row, values))


def _size(value: Any) -> int:
    return checked.integer(value, 0, _MOST_BYTES)


def _values(sizes: Sequence[int], data: bytes) -> Iterator[bytes]:
    if sum(sizes) != len(data):
        raise Malformed(f"{sum(sizes):,} bytes of values, not {len(data):,}")
    start = 0
    for size in sizes:
        yield data[start : start + size]
        start += size


def _tensor(row: Any, values: Sequence[bytes]) -> TensorRef:
    name, datatype, sizes, device, byte_size, place = checked.row(row, 6)
    shape = checked.listed(sizes, _size)
    datatype = checked.text(datatype)
    dtype = BY_DATATYPE.get(datatype) or DType("", datatype, 0, None, 0)
    place = checked.integer(place, _ABSENT, len(values) - 1)
    data = None if place == _ABSENT else values[place]
    ref = TensorRef(
        checked.text(name), dtype, shape, data, checked.text(device), _size(byte_size)
    )
    if data is not None:
        _check(ref, data)
    return ref


def _check(ref: TensorRef, data: bytes) -> None:
    """Refuse a value that does not fit its tensor's type and shape."""
    if ref.dtype.datatype not in BY_DATATYPE or len(ref.shape) > _MOST_DIMS:
        raise Malformed(f"no value for a {ref.dtype.datatype}{list(ref.shape)}"[:80])
    if ref.dtype is BYTES:
        ref.view()
    elif math.prod(ref.shape) * ref.dtype.byte_size != len(data):
        raise Malformed(f"a {ref.dtype.datatype}{list(ref.shape)} of {len(data)} bytes")
