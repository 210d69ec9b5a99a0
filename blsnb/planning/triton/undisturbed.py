"""Loads that other processes disturbed are measured again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

MAX_OTHERS = 0.1
"""Maximum share of the processors that other processes may use."""
ATTEMPTS = 3

Found = TypeVar("Found")


def least_disturbed(
    measure: Callable[[], Found], others: Callable[[Found], float]
) -> tuple[Found, int]:
    """Return the measurement that was disturbed least, and how many were made.

    Parameters
    ----------
    measure
        Measures once. It is called again while others used too much of the processors,
        twice at most.
    others
        Returns the share of the processors that they used during a measurement.
    """
    found: list[Found] = []
    while len(found) < ATTEMPTS and (not found or others(found[-1]) > MAX_OTHERS):
        found.append(measure())
    return min(found, key=others), len(found)
