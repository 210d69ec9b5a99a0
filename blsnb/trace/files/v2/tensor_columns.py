"""Tensors of a run file, version 2: columns that describe them, and their values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from blsnb.printable import counted
from blsnb.tensors import byte_strings
from blsnb.tensors.dtypes import BY_DATATYPE, BYTES, DType
from blsnb.tensors.ref import TensorRef
from blsnb.trace.files import checked
from blsnb.trace.files.checked import NS, Malformed
from blsnb.trace.files.v2 import call_values
from blsnb.trace.files.v2.columns import (
    Column,
    Values,
    each,
    lists,
    optional_integers,
    rows_of,
    texts,
    written,
)

Bytes = bytes | memoryview
Take = Callable[[Sequence[TensorRef]], list[int]]
"""Returns the numbers of tensors in the file."""
MAX_DIMS = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32
"""Maximum number of dimensions: NumPy's."""


class SummarisedTensor(TensorRef):
    """A tensor whose value another program redacted, or reduced to statistics."""

    __slots__ = ("redacted", "statistics")

    def __init__(
        self, ref: TensorRef, statistics: dict[str, Any] | None, redacted: bool
    ) -> None:
        super().__init__(
            ref.name, ref.dtype, ref.shape, ref.data, ref.device, ref.byte_size
        )
        self.statistics = statistics
        self.redacted = redacted


class _Described(NamedTuple):
    """A row of the columns."""

    name: str
    datatype: str
    shape: tuple[int, ...]
    device: str
    byte_size: int | None
    """Size of the value on the wire; None if equal to the size of the stored value."""
    size: int | None
    """Size of the value in the body; None if the body does not contain it."""
    same_as: int | None
    """Number of an earlier tensor with the same value."""
    statistics: dict[str, Any] | None = None
    redacted: bool = False


_COLUMNS: dict[str, Column] = {
    "name": texts(),
    "datatype": texts(),
    "shape": lists(call_values.ns),
    "device": texts("cpu"),
    "byte_size": optional_integers(0, NS),
    "size": optional_integers(0, NS),
    "same_as": optional_integers(0, NS),
    "statistics": each(lambda value: value if value is None else checked.table(value)),
    "redacted": each(checked.flag, False),
}


class TensorWriter:
    """Numbers tensors, and takes their values until ``budget_bytes`` are used.

    Tensors that share a value share it in the file. The writer references every
    tensor, so that their identities stay valid.
    """

    def __init__(self, budget_bytes: int) -> None:
        self._left = budget_bytes
        self._numbers: dict[int, int] = {}
        self._first: dict[int, int] = {}
        self._refs: list[TensorRef] = []
        self._left_out: dict[int, int] = {}
        self._begin_chunk()

    def number(self, ref: TensorRef) -> int:
        """Return the number of a tensor; earlier ones get the budget first."""
        known = self._numbers.get(id(ref))
        if known is None:
            known = self._numbers[id(ref)] = len(self._refs)
            self._refs.append(ref)
            self.pending += 1
            self._describe(ref, known)
        return known

    def _describe(self, ref: TensorRef, number: int) -> None:
        size = same_as = None
        # The value of a device tensor is copied to the host when it is read.
        if not ref.evicted:
            same_as = self._first.get(ref.value_id)
            if same_as is None:
                size = self._keep(ref, number)
        stored = size if same_as is None else None
        byte_size = None if ref.byte_size == stored else ref.byte_size
        self._byte_sizes.append(byte_size)
        self._sizes.append(size)
        self._same_as.append(same_as)

    def _keep(self, ref: TensorRef, number: int) -> int | None:
        data = ref.data
        if data is None or ref.value_id in self._left_out:
            return None
        size = len(data)
        if size > self._left:
            self._left_out[ref.value_id] = size
            return None
        self._left -= size
        self._first[ref.value_id] = number
        self._values.append(data)
        self.pending_bytes += size
        return size

    @property
    def left_out(self) -> tuple[int, int]:
        """Number of values that did not fit, and their bytes."""
        return len(self._left_out), sum(self._left_out.values())

    def chunk(self) -> tuple[dict[str, Any], list[Bytes]]:
        """Return JSON and body of the next ``TENS`` chunk, with all pending tensors."""
        refs = self._refs[-self.pending :]
        columns: dict[str, Values] = {
            "name": [ref.name for ref in refs],
            "datatype": [ref.dtype.datatype for ref in refs],
            "shape": [list(ref.shape) for ref in refs],
            "device": [ref.device for ref in refs],
            "byte_size": self._byte_sizes,
            "size": self._sizes,
            "same_as": self._same_as,
            **_summaries(refs),
        }
        body = self._values
        self._begin_chunk()
        return {**written(columns, _COLUMNS), "name": columns["name"]}, body

    def _begin_chunk(self) -> None:
        self._byte_sizes: list[int | None] = []
        self._sizes: list[int | None] = []
        self._same_as: list[int | None] = []
        self._values: list[Bytes] = []
        self.pending_bytes = 0
        """Bytes of values that are not in a chunk yet."""
        self.pending = 0
        """Number of tensors that are not in a chunk yet."""


def _summaries(refs: Sequence[TensorRef]) -> dict[str, Values]:
    found = [ref if isinstance(ref, SummarisedTensor) else None for ref in refs]
    if not any(found):
        return {}
    return {
        "statistics": [ref and ref.statistics for ref in found],
        "redacted": [ref is not None and ref.redacted for ref in found],
    }


def read_tensors(
    value: Any, body: bytes, known: Sequence[TensorRef]
) -> list[TensorRef]:
    """Return the tensors of a chunk; ``known`` are those of earlier chunks."""
    found: list[TensorRef] = []
    start = 0
    for row in rows_of(value, _COLUMNS, "name"):
        described = _Described(*row)
        data: Bytes | None = None
        if described.size is not None:
            data = body[start : start + described.size]
            start += described.size
        elif described.same_as is not None:
            data = _same(described.same_as, known, found)
        ref = new_tensor(*described[:3], data, *described[3:5])
        if described.statistics is not None or described.redacted:
            ref = SummarisedTensor(ref, described.statistics, described.redacted)
        found.append(ref)
    if start != len(body):
        raise Malformed(f"{counted(start, 'byte')} of values, not {len(body):,}")
    return found


def _same(
    number: int, known: Sequence[TensorRef], found: Sequence[TensorRef]
) -> Bytes | None:
    checked.integer(number, 0, len(known) + len(found) - 1)
    return (known[number] if number < len(known) else found[number - len(known)]).data


def new_tensor(
    name: str,
    datatype: str,
    shape: tuple[int, ...],
    data: Bytes | None,
    device: str,
    byte_size: int | None,
) -> TensorRef:
    """Return a tensor of a file after checking the size of its value."""
    dtype = BY_DATATYPE.get(datatype) or DType("", datatype, 0, None, 0)
    if len(shape) > MAX_DIMS:
        raise Malformed(f"a tensor of {len(shape)} dimensions")
    ref = TensorRef(name, dtype, shape, data, device, byte_size)
    if data is not None:
        _check(ref, data)
    return ref


def _check(ref: TensorRef, data: Bytes) -> None:
    """Refuse a value whose size contradicts its tensor's type and shape."""
    count = math.prod(ref.shape)
    if ref.dtype.datatype not in BY_DATATYPE:
        raise Malformed(f"no value for a {ref.dtype.datatype}{list(ref.shape)}"[:80])
    if ref.dtype is BYTES:
        byte_strings.check(data, count)
    elif count * ref.dtype.byte_size != len(data):
        size = counted(len(data), "byte")
        raise Malformed(f"a {ref.dtype.datatype}{list(ref.shape)} of {size}")


def references(tensors: Sequence[TensorRef]) -> Column:
    """Return a column of lists of tensor numbers."""

    def one(number: Any) -> TensorRef:
        return tensors[checked.integer(number, 0, len(tensors) - 1)]

    return lists(one)
