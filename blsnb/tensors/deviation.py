"""How much the elements of two tensors differ, exactly, and where."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from blsnb.tensors.dtypes import BYTES
from blsnb.tensors.ref import TensorRef

Array = np.ndarray[Any, Any]
Number = int | float
# As large as the blocks of a summary: NumPy's overhead per call does not matter.
_BLOCK = 1 << 16
_EXACT = 1 << 53
"""Maximum magnitude up to which float64 represents every integer."""


class Deviation:
    """The elements in which two tensors of one shape differ.

    NaN equals NaN; a NaN beside a number differs, without an amount.

    Parameters
    ----------
    this, baseline
        Both of BYTES, or neither; not evicted.
    """

    def __init__(self, this: TensorRef, baseline: TensorRef) -> None:
        self.differing = 0
        """Number of elements that differ."""
        self.nan = 0
        """Number of differing elements that are NaN on one side only."""
        self.largest: Number | None = None
        """The largest absolute deviation; exact for integers; None for BYTES."""
        self.at = -1
        """Index of the largest in C order; without one, of the first that differs."""
        a, b = this.view().ravel(), baseline.view().ravel()
        with np.errstate(all="ignore"):
            if this.dtype is BYTES:
                self._note(0, np.flatnonzero(a != b))
                return
            for start in range(0, a.size, _BLOCK):
                block = slice(start, start + _BLOCK)
                self._add(start, a[block], b[block])

    def _note(self, start: int, differing: Array) -> None:
        self.differing += differing.size
        if differing.size and self.at < 0:
            self.at = start + int(differing[0])

    def _add(self, start: int, a: Array, b: Array) -> None:
        """Compare a block of numbers that begins at an index."""
        nan = _nan(a), _nan(b)
        differing = np.flatnonzero(_differ(a, b) & ~(nan[0] & nan[1]))
        self._note(start, differing)
        one_sided = (nan[0] != nan[1])[differing]
        self.nan += int(one_sided.sum())
        measured = differing[~one_sided]
        if not measured.size:
            return
        amounts = _amounts(a[measured], b[measured])
        best = int(amounts.argmax())
        amount = amounts[best]
        amount = amount.item() if isinstance(amount, np.generic) else amount
        if self.largest is None or amount > self.largest:
            self.largest = amount
            self.at = start + int(measured[best])


def _nan(a: Array) -> Array:
    return np.isnan(a) if a.dtype.kind == "f" else np.zeros(a.shape, bool)


def _differ(a: Array, b: Array) -> Array:
    integers = a.dtype.kind != "f" and b.dtype.kind != "f"
    if integers or not _exceeds_floats(a, b):
        # NumPy compares integers of any two types exactly.
        return np.asarray(a != b)
    return np.asarray(a.astype(object) != b.astype(object), bool)


def _exceeds_floats(a: Array, b: Array) -> bool:
    """Whether an integer may have no exact float64."""
    return any(
        each.dtype.kind in "iu" and bool(((each > _EXACT) | (each < -_EXACT)).any())
        for each in (a, b)
        if each.dtype.itemsize == 8
    )


def _amounts(a: Array, b: Array) -> Array:
    """Return the distance of each pair of numbers."""
    if a.dtype == b.dtype and a.dtype.kind in "iu":
        # The distance of two integers fits the unsigned type of their size.
        unsigned = np.dtype(f"u{a.dtype.itemsize}")
        high, low = np.maximum(a, b), np.minimum(a, b)
        return np.asarray(high.astype(unsigned) - low.astype(unsigned))
    if a.dtype != b.dtype and _exceeds_floats(a, b):
        return np.array(list(map(_distance, a.tolist(), b.tolist())), object)
    kind = np.float64 if "f" in (a.dtype.kind, b.dtype.kind) else np.int64
    return np.asarray(np.abs(a.astype(kind) - b.astype(kind)))


def _distance(a: Number, b: Number) -> Number:
    """Return the distance of two numbers, rounded once if either is a float."""
    if isinstance(a, int) and isinstance(b, int):
        return abs(a - b)
    try:
        return float(abs(Fraction(a) - Fraction(b)))
    except OverflowError:
        return float("inf")
