"""TensorSummary: statistics and histogram of a tensor's values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from blsnb.tensors.device_ref import DeviceRef
from blsnb.tensors.dtypes import BYTES
from blsnb.tensors.ref import TensorRef

BINS = 48
"""Number of bins of a histogram."""
# Small enough to stay in the processor's cache, large enough that NumPy's
# overhead per call does not matter.
_BLOCK = 1 << 16

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Stats:
    """Statistics of a tensor; all but the counts are over its finite values.

    None stands for the minimum of no values, and for what no float can hold.
    """

    count: int
    min: float | None
    max: float | None
    mean: float | None
    std: float | None
    nan: int
    inf: int
    zeros: int


@dataclass(frozen=True, slots=True)
class Histogram:
    """Number of finite values in each of 48 equal bins from low to high."""

    low: float
    high: float
    counts: tuple[int, ...]


class TensorSummary:
    """Statistics and histogram of a frozen tensor, computed on first use.

    A tensor on a device is summarised there: only the numbers move.

    Parameters
    ----------
    ref
        The tensor. BYTES tensors and evicted ones have neither.
    """

    def __init__(self, ref: TensorRef) -> None:
        self.ref = ref

    def __repr__(self) -> str:
        return f"<TensorSummary of {self.ref!r}>"

    @cached_property
    def stats(self) -> Stats | None:
        """Statistics, with BOOL counted as 0 and 1."""
        if self.ref.evicted or self.ref.dtype is BYTES:
            return None
        with np.errstate(all="ignore"):
            if isinstance(self.ref, DeviceRef):
                return self.ref.compute(_device_stats)  # type: ignore[no-any-return]
            return _stats(self.ref.view().ravel())

    @cached_property
    def histogram(self) -> Histogram | None:
        """The histogram; None without a finite value."""
        stats = self.stats
        if stats is None or stats.min is None or stats.max is None:
            return None
        with np.errstate(all="ignore"):
            counts = self._counts(stats.min, stats.max)
        return Histogram(stats.min, stats.max, counts)

    def _counts(self, low: float, high: float) -> tuple[int, ...]:
        if isinstance(self.ref, DeviceRef):
            return self.ref.compute(partial(_device_counts, low, high))  # type: ignore[no-any-return]
        counts = np.zeros(BINS, np.int64)
        for block in _blocks(self.ref.view().ravel()):
            bins = _bins(block[np.isfinite(block)], low, high)
            counts += np.bincount(bins, minlength=BINS)
        return tuple(counts.tolist())


class _Moments:
    """Mean and sum of squared deviations, merged block by block."""

    def __init__(self) -> None:
        self.count = 0
        self.mean = 0.0
        self.squares = 0.0

    def add(self, values: Array) -> None:
        """Merge a block, by the pairwise update that does not cancel digits."""
        count = values.size
        mean = float(values.mean())
        total = self.count + count
        delta = mean - self.mean
        self.squares += float(np.square(values - mean).sum())
        self.squares += delta * delta * self.count * count / total
        self.mean += delta * count / total
        self.count = total


def _blocks(array: Array) -> Iterator[Array]:
    for start in range(0, array.size, _BLOCK):
        yield array[start : start + _BLOCK]


def _stats(array: Array) -> Stats:
    moments = _Moments()
    low, high = math.inf, -math.inf
    nan = inf = zeros = 0
    for block in _blocks(array):
        finite = block
        if block.dtype.kind == "f":
            finite = block[np.isfinite(block)]
            missing = int(np.isnan(block).sum())
            nan += missing
            inf += block.size - finite.size - missing
        if not finite.size:
            continue
        low = min(low, finite.min().item())
        high = max(high, finite.max().item())
        zeros += finite.size - int(np.count_nonzero(finite))
        moments.add(finite.astype(np.float64, copy=False))
    if not moments.count:
        return Stats(array.size, None, None, None, None, nan, inf, zeros)
    std = math.sqrt(moments.squares / moments.count)
    mean = _finite(moments.mean)
    return Stats(array.size, low, high, mean, _finite(std), nan, inf, zeros)


def _device_stats(xp: Any, array: Any) -> Stats:
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
    moments = _finite(mean), _finite(std)
    return Stats(int(values.size), low, high, *moments, nan, inf, zeros)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def unit(values: Any, low: float, high: float) -> Any:
    """Scale values of any library so that low becomes 0 and high 1."""
    # Halves, since the distance of the largest two doubles is no double.
    width = high / 2 - low / 2
    return (values.astype(np.float64) / 2 - low / 2) / (width or 1.0)


def _bins(finite: Any, low: float, high: float) -> Any:
    scaled = unit(finite, low, high) * BINS
    return scaled.astype(np.int64).clip(0, BINS - 1)


def _device_counts(low: float, high: float, xp: Any, array: Any) -> tuple[int, ...]:
    values = array.ravel()
    bins = _bins(values[xp.isfinite(values)], low, high)
    return tuple(xp.bincount(bins, minlength=BINS).tolist())
