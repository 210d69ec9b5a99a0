"""Number of calls that ran at once, counted exactly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from blsnb.views.columns import Array


class Step(NamedTuple):
    """A period in which the same number of calls ran."""

    start: float
    end: float
    level: int


def steps(start: Array, end: Array) -> list[Step]:
    """Return the periods in which at least one call ran.

    A call that ends when another starts does not overlap it.
    """
    times = np.concatenate((end, start))
    change = np.concatenate((np.full(len(end), -1), np.full(len(start), 1)))
    order = np.argsort(times, kind="stable")
    times, level = times[order], np.cumsum(change[order])
    last = np.flatnonzero(np.diff(times, append=np.inf))
    times, level = times[last], level[last]
    changed = np.flatnonzero(np.diff(level, prepend=0))
    times, level = times[changed], level[changed]
    found = zip(times[:-1].tolist(), times[1:].tolist(), level.tolist(), strict=False)
    return [Step(*each) for each in found if each[2] > 0]


def merged(found: list[Step], most: int) -> list[Step]:
    """Return at most `most` periods, each with its highest level."""
    if len(found) <= most:
        return found
    low, high = found[0].start, found[-1].end
    cell = (high - low) / most
    levels = [0] * most
    for step in found:
        first = min(most - 1, int((step.start - low) / cell))
        last = min(most - 1, int((step.end - low) / cell))
        for place in range(first, last + 1):
            levels[place] = max(levels[place], step.level)
    return _runs(levels, low, cell)


def _runs(levels: list[int], low: float, cell: float) -> list[Step]:
    runs: list[Step] = []
    for place, level in enumerate(levels):
        end = low + (place + 1) * cell
        if runs and runs[-1].level == level:
            runs[-1] = runs[-1]._replace(end=end)
        else:
            runs.append(Step(low + place * cell, end, level))
    return [run for run in runs if run.level]
