"""The permitted distance of values from those of a baseline."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from blsnb.tensors.difference import TensorDifference, ValueChange
from blsnb.tensors.dtypes import BYTES
from blsnb.tensors.ref import TensorRef

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The permitted distance from a baseline: ``atol + rtol * abs(baseline)``.

    Texts, datatypes, shapes and infinities must be equal. NaN equals NaN.

    Raises
    ------
    ValueError
        One of the two is negative or not finite.
    """

    atol: float = 0.0
    rtol: float = 0.0

    def __post_init__(self) -> None:
        for name in ("atol", "rtol"):
            value = getattr(self, name)
            if not (value >= 0 and math.isfinite(value)):
                raise ValueError(
                    f"{name}={value!r} is not valid; expected a finite number from 0"
                )

    def __str__(self) -> str:
        return f"atol={self.atol:g}, rtol={self.rtol:g}"

    def beyond(self, difference: TensorDifference) -> TensorDifference | None:
        """Return the part of a difference that exceeds the tolerance, or None.

        Counts and the largest deviation are those of the values that exceed it.
        """
        this, baseline = difference.this, difference.baseline
        exact = not (self.atol or self.rtol)
        if difference.change is not ValueChange.VALUES or exact or this is None:
            return difference if difference else None
        if this.dtype is BYTES or this.dtype.datatype == "BOOL" or baseline is None:
            return difference
        return self._excess(difference, _numbers(this), _numbers(baseline))

    def _excess(
        self, difference: TensorDifference, a: Array, b: Array
    ) -> TensorDifference | None:
        with np.errstate(all="ignore"):
            distance = np.abs(a - b)
            finite = np.isfinite(a) & np.isfinite(b)
            near = finite & (distance <= self.atol + self.rtol * np.abs(b))
            same = (a == b) | (np.isnan(a) & np.isnan(b))
        beyond = np.flatnonzero(~(near | same))
        if not beyond.size:
            return None
        measured = beyond[~np.isnan(distance[beyond])]
        at = measured[np.argmax(distance[measured])] if measured.size else beyond[0]
        kind = int if isinstance(difference.largest, int) else float
        shape = () if difference.this is None else difference.this.shape
        return replace(
            difference,
            differing=beyond.size,
            nan=int((np.isnan(a) != np.isnan(b))[beyond].sum()),
            largest=kind(distance[at]) if measured.size else None,
            index=tuple(map(int, np.unravel_index(at, shape))),
        )


def _numbers(ref: TensorRef) -> Array:
    """Return the values in a type that allows subtraction.

    With 64 bits for the fraction, as on x86, it represents every integer.
    """
    return ref.view().ravel().astype(np.longdouble)
