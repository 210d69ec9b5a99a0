"""Number of calls that ran at once, counted exactly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from blsnb.views.columns import Array


class ConcurrencyStep(NamedTuple):
    """A period in which the same number of calls ran."""

    start: float
    end: float
    level: int


def periods(start: Array, end: Array) -> list[tuple[float, float]]:
    """Return start and end of the periods in which any call ran, without gaps."""
    start, end, _ = _counted(start, end)
    if not len(start):
        return []
    gaps = np.flatnonzero(start[1:] > end[:-1])
    begun = start[np.concatenate(([0], gaps + 1))].tolist()
    ended = end[np.append(gaps, -1)].tolist()
    return list(zip(begun, ended, strict=True))


def merged(start: Array, end: Array, most: int) -> list[ConcurrencyStep]:
    """Return at most `most` periods, each with its highest level."""
    start, end, level = _counted(start, end)
    if len(level) <= most:
        return _listed(start, end, level)
    low = float(start[0])
    cell = (float(end[-1]) - low) / most
    first, last = (
        np.minimum(most - 1, ((times - low) / cell).astype(np.int64))
        for times in (start, end)
    )
    levels = np.zeros(most, np.int64)
    np.maximum.at(levels, first, level)
    np.maximum.at(levels, last, level)
    for step in np.flatnonzero(last > first + 1).tolist():
        inner = slice(first[step] + 1, last[step])
        levels[inner] = np.maximum(levels[inner], level[step])
    return _runs(levels.tolist(), low, cell)


def _counted(start: Array, end: Array) -> tuple[Array, Array, Array]:
    """Return starts, ends and levels of the periods in which a call ran."""
    times = np.concatenate((end, start))
    change = np.concatenate((np.full(len(end), -1), np.full(len(start), 1)))
    order = np.argsort(times, kind="stable")
    times, level = times[order], np.cumsum(change[order])
    last = np.flatnonzero(np.diff(times, append=np.inf))
    times, level = times[last], level[last]
    changed = np.flatnonzero(np.diff(level, prepend=0))
    times, level = times[changed], level[changed][:-1]
    ran = level > 0
    return times[:-1][ran], times[1:][ran], level[ran]


def _listed(start: Array, end: Array, level: Array) -> list[ConcurrencyStep]:
    columns = start.tolist(), end.tolist(), level.tolist()
    return [ConcurrencyStep(*each) for each in zip(*columns, strict=True)]


def _runs(levels: list[int], low: float, cell: float) -> list[ConcurrencyStep]:
    runs: list[ConcurrencyStep] = []
    for place, level in enumerate(levels):
        end = low + (place + 1) * cell
        if runs and runs[-1].level == level:
            runs[-1] = runs[-1]._replace(end=end)
        else:
            runs.append(ConcurrencyStep(low + place * cell, end, level))
    return [run for run in runs if run.level]
