"""Measure several subjects in alternating rounds.

Other load of the machine then affects all subjects equally.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TypeVar

Subject = TypeVar("Subject", bound=Hashable)


def samples(
    subjects: Mapping[Subject, Callable[[], Iterable[float]]], rounds: int
) -> dict[Subject, list[list[float]]]:
    """Return the numbers of each subject, one list for each round.

    A preceding round fills caches and pools; its numbers are dropped.
    """
    seen: dict[Subject, list[list[float]]] = {name: [] for name in subjects}
    for number in range(rounds + 1):
        for name, measure in subjects.items():
            taken = list(measure())
            if number:
                seen[name].append(taken)
    return seen


def medians(
    subjects: Mapping[Subject, Callable[[], Iterable[float]]], rounds: int
) -> dict[Subject, float]:
    """Return the median of all numbers of each subject, as `samples` measures them."""
    return {
        name: statistics.median(itertools.chain(*taken))
        for name, taken in samples(subjects, rounds).items()
    }
