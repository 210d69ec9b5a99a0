"""Processors whose speed varies: how much work they do until a time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Protocol

STEP_NS = 20_000_000
"""Duration of a step of a slowness."""

Slowness = tuple[tuple[float, ...], ...]
"""How long work takes, in relation to the mean: of each processor, in each step."""


class Pace(Protocol):
    """The speed of a processor over time; work is counted in ns at mean speed."""

    def work_ns(self, at_ns: int) -> float:
        """Return how much work is done until a time."""

    def time_ns(self, work_ns: float) -> float:
        """Return when that much work is done."""


class Steady:
    """A processor whose speed does not vary."""

    def work_ns(self, at_ns: int) -> float:
        """Return the time, of which nothing is lost."""
        return at_ns

    def time_ns(self, work_ns: float) -> float:
        """Return the time that the work takes."""
        return work_ns


STEADY = Steady()


class Varying:
    """A processor whose speed varies as observed, again and again.

    Parameters
    ----------
    slowness
        How long work takes in each step, in relation to the mean; at least one.
    """

    def __init__(self, slowness: Sequence[float]) -> None:
        self._slowness = slowness
        self._done = list(
            accumulate((STEP_NS / each for each in slowness), initial=0.0)
        )
        self._span_ns = STEP_NS * len(slowness)
        self._offset_ns = 0

    def beginning(self, share: float) -> Varying:
        """Return the processor with its beginning at a share of the observed time."""
        found = object.__new__(Varying)
        found.__dict__.update(self.__dict__)
        found._offset_ns = int(self._span_ns * share)
        return found

    def work_ns(self, at_ns: int) -> float:
        """Return how much work is done until a time, from its first step on."""
        rounds, rest_ns = divmod(at_ns + self._offset_ns, self._span_ns)
        step, within_ns = divmod(rest_ns, STEP_NS)
        done = self._done
        return rounds * done[-1] + done[step] + within_ns / self._slowness[step]

    def time_ns(self, work_ns: float) -> float:
        """Return when that much work is done."""
        rounds, rest = divmod(work_ns, self._done[-1])
        step = min(bisect_right(self._done, rest), len(self._slowness)) - 1
        within_ns = (rest - self._done[step]) * self._slowness[step]
        return rounds * self._span_ns + step * STEP_NS + within_ns - self._offset_ns
