"""Tensors of a saved run: a table of descriptions, and their bytes in a row."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from blsnb.tensors.dtypes import BY_DATATYPE, BYTES, DType
from blsnb.tensors.ref import TensorRef
from blsnb.trace import checked
from blsnb.trace.checked import Malformed

_MOST_DIMS = 32
_MOST_BYTES = 1 << 62
_ABSENT = -1

Bytes = bytes | memoryview


class ValueWriter:
    """Numbers tensors, and takes their values as long as they fit.

    A tensor that is handed on is one value: it is kept once.

    Parameters
    ----------
    budget_bytes
        Bytes of values taken at most.
    """

    def __init__(self, budget_bytes: int) -> None:
        self._left = budget_bytes
        self._numbers: dict[int, int] = {}
        self._places: dict[int, int] = {}
        # What is numbered by its identity must not be freed meanwhile.
        self._refs: list[TensorRef] = []
        self._left_out: dict[int, Bytes] = {}
        self.values: list[Bytes] = []

    def take(self, refs: Iterable[TensorRef]) -> list[int]:
        """Return the tensors' numbers; the first ones taken have room for values."""
        return [self._number(ref) for ref in refs]

    def _number(self, ref: TensorRef) -> int:
        known = self._numbers.get(id(ref))
        if known is None:
            known = self._numbers[id(ref)] = len(self._refs)
            self._refs.append(ref)
            # Of a tensor on a device this is a copy, and lives while it is held.
            data = ref.data
            if data is not None:
                self._keep(data)
        return known

    def _keep(self, data: Bytes) -> None:
        if id(data) in self._places or id(data) in self._left_out:
            return
        if len(data) > self._left:
            self._left_out[id(data)] = data
            return
        self._left -= len(data)
        self._places[id(data)] = len(self.values)
        self.values.append(data)

    @property
    def left_out(self) -> tuple[int, int]:
        """How many values did not fit, and how many bytes they have."""
        return len(self._left_out), sum(map(len, self._left_out.values()))

    def described(self) -> list[list[Any]]:
        """Return the table: each tensor's facts, and the number of its value."""
        return [
            [
                ref.name,
                ref.dtype.datatype,
                list(ref.shape),
                ref.device,
                ref.byte_size,
                self._places.get(id(ref.data), _ABSENT),
            ]
            for ref in self._refs
        ]


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
