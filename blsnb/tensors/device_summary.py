"""Statistics of a tensor that is on a device, done there: only numbers move."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from blsnb.tensors.device_ref import DeviceRef
from blsnb.tensors.stats import BINS, Stats


def stats_of(ref: DeviceRef) -> Stats:
    """Return the statistics of a tensor, computed on its device."""
    return ref.computing(_stats)  # type: ignore[no-any-return]


def counts_of(ref: DeviceRef, low: float, high: float) -> tuple[int, ...]:
    """Return how many finite values fall in each bin, computed on their device."""
    return ref.computing(partial(_counts, low, high))  # type: ignore[no-any-return]


def _stats(xp: Any, array: Any) -> Stats:
    values = array.ravel()
    finite, nan, inf = values, 0, 0
    if values.dtype.kind == "f":
        nan = int(xp.isnan(values).sum())
        inf = int(xp.isinf(values).sum())
        finite = values[xp.isfinite(values)] if nan or inf else values
    if not finite.size:
        return Stats(int(values.size), None, None, None, None, nan, inf, 0)
    zeros = int(finite.size) - int(xp.count_nonzero(finite))
    wide = finite.astype(xp.float64)
    mean = float(wide.mean())
    std = math.sqrt(float(xp.square(wide - mean).mean()))
    low, high = finite.min().item(), finite.max().item()
    shown = _finite(mean), _finite(std)
    return Stats(int(values.size), low, high, *shown, nan, inf, zeros)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _counts(low: float, high: float, xp: Any, array: Any) -> tuple[int, ...]:
    values = array.ravel()
    finite = values[xp.isfinite(values)].astype(xp.float64)
    # Halves, since the distance of the largest two doubles is no double.
    width = high / 2 - low / 2
    places = xp.zeros(finite.shape, xp.int64)
    if width:
        scaled = (finite / 2 - low / 2) / width * BINS
        places = scaled.astype(xp.int64).clip(0, BINS - 1)
    return tuple(xp.bincount(places, minlength=BINS).tolist())
