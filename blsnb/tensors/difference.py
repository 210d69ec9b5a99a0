"""TensorDifference: in what two tensors of one name differ, and most at which place."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from blsnb.tensors.dtypes import BYTES
from blsnb.tensors.ref import TensorRef

Array = np.ndarray[Any, Any]
Number = int | float
# As large as the blocks of a summary: NumPy's overhead per call does not matter.
_BLOCK = 1 << 16
_MOST_TEXT = 40


class Change(enum.StrEnum):
    """What became of a tensor."""

    SAME = "same"
    ADDED = "added"
    REMOVED = "removed"
    DATATYPE = "datatype"
    SHAPE = "shape"
    VALUES = "values"
    UNKNOWN = "unknown"
    """Described alike, but a value is not there any more."""


@dataclass(frozen=True, slots=True)
class TensorDifference:
    """What is different between a tensor and its baseline.

    NaN equals NaN; a NaN beside a number differs, but by no amount.
    """

    name: str
    change: Change
    this: TensorRef | None = None
    baseline: TensorRef | None = None
    count: int = 0
    """Number of elements that were compared."""
    differing: int = 0
    """How many of them differ."""
    nan: int = 0
    """How many of those are NaN on one side only."""
    largest: Number | None = None
    """The largest absolute deviation; exact for integers; None for BYTES."""
    index: tuple[int, ...] | None = None
    """Where it is; without an amount the first element that differs."""

    def __repr__(self) -> str:
        return f"<TensorDifference {self.name}: {self.words}>"

    def __bool__(self) -> bool:
        """Whether anything is known to differ."""
        return self.change not in (Change.SAME, Change.UNKNOWN)

    @property
    def words(self) -> str:
        """The difference in words, for a reader."""
        this, baseline = self.this, self.baseline
        match self.change:
            case Change.ADDED if this is not None:
                return f"new: {_described(this)}"
            case Change.REMOVED if baseline is not None:
                return f"gone: it was {_described(baseline)}"
            case Change.SHAPE if this is not None and baseline is not None:
                types = _types(this, baseline)
                return f"{types}{_shape(this)}, was {_shape(baseline)}"
            case Change.DATATYPE if this is not None and baseline is not None:
                return f"{_types(this, baseline)}{self._values()}"
            case Change.VALUES:
                return self._values()
            case Change.UNKNOWN:
                return "not compared: a value was not kept"
        return "the same"

    def _values(self) -> str:
        if not self.differing:
            return "all values equal" if self.count else "values not compared"
        said = f"{self.differing:,} of {self.count:,} differ"
        if self.nan:
            said += f", {self.nan:,} of them NaN on one side"
        if self.index is None or self.this is None or self.baseline is None:
            return said
        now, before = (_element(ref, self.index) for ref in (self.this, self.baseline))
        at = f"{list(self.index)}: {now}, was {before}"
        if self.largest is None:
            return f"{said}; first at {at}"
        return f"{said}; most by {_number(self.largest)} at {at}"


def difference(
    this: TensorRef | None, baseline: TensorRef | None, name: str = ""
) -> TensorDifference:
    """Return in what a tensor differs from its baseline; None for a tensor not there.

    Values are compared where shapes are equal, also of different datatypes.
    """
    name = name or (this or baseline or _NOTHING).name
    if this is None or baseline is None:
        change = Change.SAME if this is baseline else Change.ADDED
        change = Change.REMOVED if this is None and baseline is not None else change
        return TensorDifference(name, change, this, baseline)
    if this.shape != baseline.shape:
        return TensorDifference(name, Change.SHAPE, this, baseline)
    same_type = this.dtype.datatype == baseline.dtype.datatype
    change = Change.VALUES if same_type else Change.DATATYPE
    if this.evicted or baseline.evicted:
        change = Change.UNKNOWN if same_type else change
        return TensorDifference(name, change, this, baseline)
    count = math.prod(this.shape)
    if same_type and this.data == baseline.data:
        return TensorDifference(name, Change.SAME, this, baseline, count)
    if (this.dtype is BYTES) != (baseline.dtype is BYTES):
        return TensorDifference(name, change, this, baseline)
    with np.errstate(all="ignore"):
        found = _compared(this, baseline)
    if same_type and not found.differing:
        # Zeros of two signs, NaNs of two kinds.
        change = Change.SAME
    at = found.at
    index = None if at < 0 else tuple(map(int, np.unravel_index(at, this.shape)))
    facts = count, found.differing, found.nan, found.largest, index
    return TensorDifference(name, change, this, baseline, *facts)


_NOTHING = TensorRef("", BYTES, (), None)


class _Found:
    """What differs, block by block."""

    def __init__(self) -> None:
        self.differing = self.nan = 0
        self.largest: Number | None = None
        self.at = -1

    def add(self, start: int, a: Array, b: Array) -> None:
        """Compare a block of numbers that begins at a place."""
        differs = a != b
        nans = np.zeros(a.shape, bool)
        if a.dtype.kind == "f":
            nans = np.isnan(a) != np.isnan(b)
            differs &= ~(np.isnan(a) & np.isnan(b))
        where = np.flatnonzero(differs)
        self.differing += where.size
        self.nan += int(nans.sum())
        if not where.size:
            return
        if self.at < 0:
            self.at = start + int(where[0])
        measured = np.flatnonzero(differs & ~nans)
        if not measured.size:
            return
        amounts = _amounts(a[measured], b[measured])
        best = int(amounts.argmax())
        if self.largest is None or amounts[best].item() > self.largest:
            self.largest = amounts[best].item()
            self.at = start + int(measured[best])


def _compared(this: TensorRef, baseline: TensorRef) -> _Found:
    found = _Found()
    a, b = this.view().ravel(), baseline.view().ravel()
    if this.dtype is BYTES:
        where = np.flatnonzero(a != b)
        found.differing = where.size
        found.at = int(where[0]) if where.size else -1
        return found
    for start in range(0, a.size, _BLOCK):
        pair = _alike(a[start : start + _BLOCK], b[start : start + _BLOCK])
        found.add(start, *pair)
    return found


def _alike(a: Array, b: Array) -> tuple[Array, Array]:
    """Return both in a type in which they can be subtracted."""
    if a.dtype != b.dtype or a.dtype.kind == "f":
        return a.astype(np.float64), b.astype(np.float64)
    return (a.view(np.uint8), b.view(np.uint8)) if a.dtype.kind == "b" else (a, b)


def _amounts(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.asarray(np.abs(a - b))
    # The distance of two integers fits the unsigned type of their size.
    unsigned = np.dtype(f"u{a.dtype.itemsize}")
    high, low = np.maximum(a, b), np.minimum(a, b)
    return np.asarray(high.astype(unsigned) - low.astype(unsigned))


def _described(ref: TensorRef) -> str:
    return f"{ref.dtype.datatype}{_shape(ref)}"


def _shape(ref: TensorRef) -> str:
    return f"[{', '.join(map(str, ref.shape))}]"


def _types(this: TensorRef, baseline: TensorRef) -> str:
    now, before = this.dtype.datatype, baseline.dtype.datatype
    return "" if now == before else f"{now}, was {before}; "


def _element(ref: TensorRef, index: tuple[int, ...]) -> str:
    element = ref.view()[index]
    if isinstance(element, bytes):
        cut = element[:_MOST_TEXT].decode("utf-8", "replace")
        return repr(cut) + ("…" if len(element) > _MOST_TEXT else "")
    return _number(element.item())


def _number(value: Number) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
