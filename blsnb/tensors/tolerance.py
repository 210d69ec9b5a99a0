"""Tolerance: how far values may be from those of a baseline."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from blsnb.tensors.difference import Change, TensorDifference
from blsnb.tensors.dtypes import BYTES
from blsnb.tensors.ref import TensorRef

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a number may be from its baseline: ``atol + rtol * abs(baseline)``.

    Everything else is to be the same: texts, datatypes, shapes, infinities. NaN is
    the same as NaN.

    Raises
    ------
    ValueError
        One of the two is negative or no number.
    """

    atol: float = 0.0
    rtol: float = 0.0

    def __post_init__(self) -> None:
        for name in ("atol", "rtol"):
            value = getattr(self, name)
            if not (value >= 0 and math.isfinite(value)):
                raise ValueError(f"{name} must be a number from 0 on, not {value!r}")

    def __str__(self) -> str:
        return f"atol={self.atol:g}, rtol={self.rtol:g}"

    def beyond(self, difference: TensorDifference) -> TensorDifference | None:
        """Return what of a difference is too large, or None.

        It counts, and shows the largest of, the values that are too far away.
        """
        this, baseline = difference.this, difference.baseline
        exact = not (self.atol or self.rtol)
        if difference.change is not Change.VALUES or exact or this is None:
            return difference if difference else None
        if this.dtype is BYTES or this.dtype.datatype == "BOOL" or baseline is None:
            return difference
        return self._too_far(difference, _numbers(this), _numbers(baseline))

    def _too_far(
        self, difference: TensorDifference, a: Array, b: Array
    ) -> TensorDifference | None:
        with np.errstate(all="ignore"):
            away = np.abs(a - b)
            finite = np.isfinite(a) & np.isfinite(b)
            near = finite & (away <= self.atol + self.rtol * np.abs(b))
            same = (a == b) | (np.isnan(a) & np.isnan(b))
        places = np.flatnonzero(~(near | same))
        if not places.size:
            return None
        measured = places[~np.isnan(away[places])]
        at = measured[np.argmax(away[measured])] if measured.size else places[0]
        shape = () if difference.this is None else difference.this.shape
        return replace(
            difference,
            differing=places.size,
            nan=int((np.isnan(a) != np.isnan(b))[places].sum()),
            largest=_amount(difference, away[at]) if measured.size else None,
            index=tuple(map(int, np.unravel_index(at, shape))),
        )


def _amount(difference: TensorDifference, away: np.longdouble) -> int | float:
    return int(away) if isinstance(difference.largest, int) else float(away)


def _numbers(ref: TensorRef) -> Array:
    """Return the values in a type in which they can be subtracted.

    Where it has 64 bits for the fraction, as on x86, it holds every integer.
    """
    return ref.view().ravel().astype(np.longdouble)
