"""TensorSummary: what a tensor's values look like, in a few numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from blsnb.tensors import device_summary
from blsnb.tensors.device_ref import DeviceRef
from blsnb.tensors.dtypes import BYTES
from blsnb.tensors.ref import TensorRef
from blsnb.tensors.stats import BINS, Histogram, Stats

# Small enough to stay in the processor's cache, large enough that NumPy's
# overhead per call does not matter.
_BLOCK = 1 << 16

Array = np.ndarray[Any, Any]


class TensorSummary:
    """Statistics and histogram of a frozen tensor, computed when first asked for.

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
                return device_summary.stats_of(self.ref)
            return _stats(self.ref.view().ravel())

    @cached_property
    def histogram(self) -> Histogram | None:
        """The histogram; None without a finite value."""
        stats = self.stats
        if stats is None or stats.min is None or stats.max is None:
            return None
        with np.errstate(all="ignore"):
            counts = self._counted(stats.min, stats.max)
        return Histogram(stats.min, stats.max, counts)

    def _counted(self, low: float, high: float) -> tuple[int, ...]:
        if isinstance(self.ref, DeviceRef):
            return device_summary.counts_of(self.ref, low, high)
        return _counts(self.ref.view().ravel(), low, high)


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


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def unit(values: Array, low: float, high: float) -> Array:
    """Scale values so that low becomes 0 and high 1; all 0 when they are equal."""
    # Halves, since the distance of the largest two doubles is no double.
    width = high / 2 - low / 2
    scaled = values.astype(np.float64) / 2 - low / 2
    return scaled / width if width else np.zeros_like(scaled)


def _counts(array: Array, low: float, high: float) -> tuple[int, ...]:
    counts = np.zeros(BINS, np.int64)
    for block in _blocks(array):
        finite = block[np.isfinite(block)]
        places = (unit(finite, low, high) * BINS).astype(np.intp)
        counts += np.bincount(places.clip(0, BINS - 1), minlength=BINS)
    return tuple(counts.tolist())
