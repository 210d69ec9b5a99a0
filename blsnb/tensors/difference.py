"""How a tensor differs from its baseline, and most at which index."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from blsnb.printable import printable
from blsnb.tensors.deviation import Deviation, Number
from blsnb.tensors.dtypes import BYTES
from blsnb.tensors.ref import TensorRef

_MAX_TEXT = 40
"""Maximum bytes of a text that are shown."""
_CONTEXT = 12
"""Bytes shown before the first that differs."""
_DIGITS = range(6, 18)
"""Numbers of digits to try; the last distinguishes any two floats."""


class ValueChange(enum.StrEnum):
    """How a tensor differs from its baseline."""

    SAME = "same"
    ADDED = "added"
    REMOVED = "removed"
    DATATYPE = "datatype"
    SHAPE = "shape"
    VALUES = "values"
    UNKNOWN = "unknown"
    """Same datatype and shape, but a value was evicted."""


@dataclass(frozen=True, slots=True)
class TensorDifference:
    """The difference between a tensor and its baseline.

    NaN equals NaN; a NaN beside a number differs, without an amount.
    """

    name: str
    change: ValueChange
    this: TensorRef | None = None
    baseline: TensorRef | None = None
    count: int = 0
    """Number of compared elements."""
    differing: int = 0
    """Number of elements that differ."""
    nan: int = 0
    """Number of differing elements that are NaN on one side only."""
    largest: Number | None = None
    """The largest absolute deviation; exact for integers; None for BYTES."""
    index: tuple[int, ...] | None = None
    """Index of the largest; without one, of the first element that differs."""

    def __repr__(self) -> str:
        return printable(f"<TensorDifference {self.name}: {self.words}>")

    def __bool__(self) -> bool:
        """Whether a difference is known."""
        return self.change not in (ValueChange.SAME, ValueChange.UNKNOWN)

    @property
    def words(self) -> str:
        """The difference as text."""
        this, baseline = self.this, self.baseline
        match self.change:
            case ValueChange.ADDED if this is not None:
                return f"new: {_described(this)}"
            case ValueChange.REMOVED if baseline is not None:
                return f"gone: it was {_described(baseline)}"
            case ValueChange.SHAPE if this is not None and baseline is not None:
                types = _types(this, baseline)
                return f"{types}{_shape(this)}, was {_shape(baseline)}"
            case ValueChange.DATATYPE if this is not None and baseline is not None:
                return f"{_types(this, baseline)}{self._values()}"
            case ValueChange.VALUES:
                return self._values()
            case ValueChange.UNKNOWN:
                return "not compared: a value was not kept"
        return "the same"

    def _values(self) -> str:
        if not self.differing:
            empty = self.this is not None and not math.prod(self.this.shape)
            unknown = "no elements" if empty else "values not compared"
            return "all values equal" if self.count else unknown
        text = f"{self.differing:,} of {self.count:,} differ"
        if self.nan:
            text += f", {self.nan:,} of them NaN on one side"
        if self.index is None or self.this is None or self.baseline is None:
            return text
        pair = (ref.view()[self.index] for ref in (self.this, self.baseline))
        now, before = _distinct_texts(*pair)
        at = f"{list(self.index)}: {now}, was {before}"
        if self.largest is None:
            return f"{text}; first at {at}"
        return f"{text}; most by {_number(self.largest)} at {at}"


def difference(
    this: TensorRef | None, baseline: TensorRef | None, name: str = ""
) -> TensorDifference:
    """Return the difference of two tensors; None stands for a missing one.

    Values are compared where shapes are equal, also of different datatypes.
    """
    if this is None or baseline is None:
        change = ValueChange.ADDED if baseline is None else ValueChange.REMOVED
        change = ValueChange.SAME if this is baseline else change
        name = name or getattr(this or baseline, "name", "")
        return TensorDifference(name, change, this, baseline)
    name = name or this.name
    if this.shape != baseline.shape:
        return TensorDifference(name, ValueChange.SHAPE, this, baseline)
    same_type = this.dtype.datatype == baseline.dtype.datatype
    change = ValueChange.VALUES if same_type else ValueChange.DATATYPE
    if this.evicted or baseline.evicted:
        change = ValueChange.UNKNOWN if same_type else change
        return TensorDifference(name, change, this, baseline)
    count = math.prod(this.shape)
    if same_type and this.data == baseline.data:
        return TensorDifference(name, ValueChange.SAME, this, baseline, count)
    if (this.dtype is BYTES) != (baseline.dtype is BYTES):
        return TensorDifference(name, change, this, baseline)
    found = Deviation(this, baseline)
    if same_type and not found.differing:
        # Zeros of different signs, or different NaNs.
        change = ValueChange.SAME
    at = found.at
    index = None if at < 0 else tuple(map(int, np.unravel_index(at, this.shape)))
    facts = count, found.differing, found.nan, found.largest, index
    return TensorDifference(name, change, this, baseline, *facts)


def _described(ref: TensorRef) -> str:
    return f"{ref.dtype.datatype}{_shape(ref)}"


def _shape(ref: TensorRef) -> str:
    return f"[{', '.join(map(str, ref.shape))}]"


def _types(this: TensorRef, baseline: TensorRef) -> str:
    now, before = this.dtype.datatype, baseline.dtype.datatype
    return "" if now == before else f"{now}, was {before}; "


def _distinct_texts(now: Any, before: Any) -> tuple[str, str]:
    """Return the texts of two elements, long enough to differ."""
    if isinstance(now, bytes):
        pairs = enumerate(zip(now, before, strict=False))
        shorter = min(len(now), len(before))
        alike = next((at for at, (x, y) in pairs if x != y), shorter)
        start = 0 if alike < _MAX_TEXT else _character(now, alike - _CONTEXT)
        return _text(now, start), _text(before, start)
    a, b = now.item(), before.item()
    for digits in _DIGITS:
        pair = _number(a, digits), _number(b, digits)
        if pair[0] != pair[1]:
            break
    return pair


def _character(text: bytes, at: int) -> int:
    """Return where the UTF-8 character of a byte begins."""
    while at and text[at] & 0xC0 == 0x80:
        at -= 1
    return at


def _text(element: bytes, start: int) -> str:
    end = start + _MAX_TEXT
    cut = repr(element[start:end].decode("utf-8", "replace"))
    return f"{'…' if start else ''}{cut}{'…' if len(element) > end else ''}"


def _number(value: Number, digits: int = _DIGITS[0]) -> str:
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)
