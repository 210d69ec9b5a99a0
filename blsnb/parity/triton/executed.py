"""Executions as a real server counts them, whether or not it traces requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Executed(NamedTuple):
    """Executions of one model, or of one of its batch sizes.

    Parameters
    ----------
    executions
        Number of executions.
    total_ns
        Their durations together.
    """

    executions: int = 0
    total_ns: int = 0

    @property
    def mean_ns(self) -> float:
        """Mean duration; 0 without an execution."""
        return self.total_ns / self.executions if self.executions else 0.0

    def plus(self, other: Executed) -> Executed:
        """Return the executions of both."""
        return Executed(
            self.executions + other.executions, self.total_ns + other.total_ns
        )


BySize = Mapping[int, Executed]
"""By batch size."""


def since(
    after: Mapping[str, BySize], before: Mapping[str, BySize]
) -> dict[str, BySize]:
    """Return what was executed between two counts, by model and batch size."""
    found: dict[str, BySize] = {}
    for name, sizes in after.items():
        known = before.get(name, {})
        changes = {
            size: each.plus(Executed(*(-part for part in known.get(size, Executed()))))
            for size, each in sizes.items()
        }
        found[name] = {size: each for size, each in changes.items() if each.executions}
    return found


def together(sizes: BySize) -> Executed:
    """Return the executions of all batch sizes."""
    found = Executed()
    for each in sizes.values():
        found = found.plus(each)
    return found


def inferences(sizes: BySize) -> int:
    """Return the sum of the batch sizes of all executions."""
    return sum(size * each.executions for size, each in sizes.items())
