"""Stats and Histogram: the few numbers that stand for a tensor's values."""

from __future__ import annotations

from dataclasses import dataclass

BINS = 48


@dataclass(frozen=True, slots=True)
class Stats:
    """Statistics of a tensor; all but the counts are over its finite values.

    What does not exist (the minimum of nothing) or does not fit a float is None.
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
    """How many finite values fall in each of 48 equal bins from low to high."""

    low: float
    high: float
    counts: tuple[int, ...]
