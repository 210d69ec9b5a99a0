"""Rounds: all subjects of a comparison take turns, and medians are compared.

Whatever else the machine does then hits each alike.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TypeVar

Subject = TypeVar("Subject", bound=Hashable)


def medians(
    subjects: Mapping[Subject, Callable[[], Iterable[float]]], rounds: int
) -> dict[Subject, float]:
    """Return the median of all numbers that each subject gave in its turns.

    A first turn more is for caches and pools to fill, and counts nothing.
    """
    seen: dict[Subject, list[float]] = {name: [] for name in subjects}
    for turn in range(rounds + 1):
        for name, measure in subjects.items():
            taken = list(measure())
            if turn:
                seen[name] += taken
    return {name: statistics.median(taken) for name, taken in seen.items()}
