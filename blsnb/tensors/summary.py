"""Statistics and histogram of a tensor's values."""

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


@dataclass(frozen=True, slots=True)
class Stats:
    """Statistics of a tensor, of its finite values; ``count`` includes the others.

    None replaces the minimum of no values, and numbers that no float can represent.
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
            return self.ref.compute(partial(_stats, self._block))  # type: ignore[no-any-return]

    @cached_property
    def histogram(self) -> Histogram | None:
        """The histogram; None without a finite value."""
        stats = self.stats
        if stats is None or stats.min is None or stats.max is None:
            return None
        low, high = stats.min, stats.max
        with np.errstate(all="ignore"):
            counts = self.ref.compute(partial(_counts, self._block, low, high))
        return Histogram(low, high, counts)

    @property
    def _block(self) -> int:
        """Number of elements to compute at once: on a device all of them."""
        if isinstance(self.ref, DeviceRef):
            return max(1, math.prod(self.ref.shape))
        return _BLOCK


class _Moments:
    """Mean and sum of squared deviations, merged block by block."""

    def __init__(self) -> None:
        self.count = 0
        self.mean = 0.0
        self.squares = 0.0

    def add(self, values: Any) -> None:
        """Merge a block, by the pairwise update that does not cancel digits."""
        count = values.size
        mean = float(values.mean())
        total = self.count + count
        delta = mean - self.mean
        self.squares += float(((values - mean) ** 2).sum())
        self.squares += delta * delta * self.count * count / total
        self.mean += delta * count / total
        self.count = total


def _blocks(array: Any, size: int) -> Iterator[Any]:
    flat = array.ravel()
    for start in range(0, flat.size, size):
        yield flat[start : start + size]


def _stats(size: int, xp: Any, array: Any) -> Stats:
    moments = _Moments()
    low, high = math.inf, -math.inf
    nan = inf = zeros = 0
    for block in _blocks(array, size):
        finite = block
        if block.dtype.kind == "f":
            finite = block[xp.isfinite(block)]
            missing = int(xp.isnan(block).sum())
            nan += missing
            inf += block.size - finite.size - missing
        if not finite.size:
            continue
        low = min(low, finite.min().item())
        high = max(high, finite.max().item())
        zeros += finite.size - int(xp.count_nonzero(finite))
        moments.add(finite.astype(np.float64, copy=False))
    count = int(array.size)
    if not moments.count:
        return Stats(count, None, None, None, None, nan, inf, zeros)
    std = math.sqrt(moments.squares / moments.count)
    return Stats(count, low, high, _finite(moments.mean), _finite(std), nan, inf, zeros)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def unit(values: Any, low: float, high: float) -> Any:
    """Scale values of any library so that low becomes 0 and high 1."""
    # Halves, since the distance of the two largest doubles exceeds a double.
    width = high / 2 - low / 2
    return (values.astype(np.float64) / 2 - low / 2) / (width or 1.0)


def bins_of(values: Any, low: float, high: float, count: int) -> Any:
    """Return the number of each value's bin, of equal ones from low to high."""
    bins = (unit(values, low, high) * count).astype(np.int64)
    return bins.clip(0, count - 1)


def _counts(size: int, low: float, high: float, xp: Any, array: Any) -> tuple[int, ...]:
    counts = xp.zeros(BINS, np.int64)
    for block in _blocks(array, size):
        bins = bins_of(block[xp.isfinite(block)], low, high, BINS)
        counts += xp.bincount(bins, minlength=BINS)
    return tuple(counts.tolist())
