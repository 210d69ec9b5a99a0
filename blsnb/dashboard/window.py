"""Rates and percentiles from readings of counters; the readings carry the time."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from blsnb.engine.readings import Reading, VersionReading
from blsnb.views.live.overview import ModelRow, Overview

RATE_NS = 5_000_000_000
"""Period of the rates."""
LATENCY_NS = 60_000_000_000
"""Maximum age of the requests in the percentiles."""
_MAX_POINTS = 120
"""Maximum number of points of the history."""
_Key = tuple[str, int]
_COUNTERS = tuple(
    attrgetter(name)
    for name in ("succeeded", "failed", "inferences", "executions", "queued_ns")
)


class Window:
    """The readings of the latest seconds."""

    def __init__(self) -> None:
        self._readings: deque[Reading] = deque()
        self._history: deque[float] = deque(maxlen=_MAX_POINTS)
        self._count = 0

    def add(self, reading: Reading) -> Overview:
        """Add the latest reading and return the overview."""
        self._count += 1
        last = self._readings[-1] if self._readings else None
        self._readings.append(reading)
        # Rates are differences from the first reading: keep one as old as their period.
        oldest_ns = reading.at_ns - RATE_NS
        while len(self._readings) > 1 and self._readings[1].at_ns <= oldest_ns:
            self._readings.popleft()
        if last is not None:
            self._history.append(_total(_ended(last, reading)))
        ended = _ended(self._readings[0], reading)
        rows = tuple(
            _row(version, reading.at_ns, ended.get((version.name, version.version)))
            for version in reading.versions
        )
        known = len(self._readings) > 1
        total = _total(ended) if known else math.nan
        history = tuple(self._history)
        return Overview(reading.in_flight, total, rows, history, self._count)


class _Ended(NamedTuple):
    """The requests that ended within a period.

    Parameters
    ----------
    per_second
        Requests per second.
    failed
        Number of failed requests.
    batch
        Mean number of inferences per execution; NaN without an execution.
    queued_us
        Mean time of a request in the queue; NaN without a request.
    """

    per_second: float
    failed: int
    batch: float
    queued_us: float


def _ended(before: Reading, now: Reading) -> dict[_Key, _Ended]:
    """Return the requests that ended between two readings, by model version."""
    seconds = (now.at_ns - before.at_ns) / 1e9
    if seconds <= 0:
        return {}
    earlier = {(each.name, each.version): each for each in before.versions}
    return {
        (each.name, each.version): _since(
            earlier.get((each.name, each.version)), each, seconds
        )
        for each in now.versions
    }


def _since(
    before: VersionReading | None, now: VersionReading, seconds: float
) -> _Ended:
    counts = [counter(now) for counter in _COUNTERS]
    # Lower counts than before: the model was reloaded and counts from 0.
    if before and before.succeeded <= now.succeeded and before.failed <= now.failed:
        counts = [
            count - counter(before)
            for count, counter in zip(counts, _COUNTERS, strict=True)
        ]
    succeeded, failed, inferences, executions, queued_ns = counts
    return _Ended(
        (succeeded + failed) / seconds,
        failed,
        # A failed request is executed but does not count as an inference.
        _mean(inferences, executions if inferences else 0),
        _mean(queued_ns / 1e3, succeeded),
    )


def _mean(total: float, count: int) -> float:
    return total / count if count > 0 else math.nan


def _total(ended: dict[_Key, _Ended]) -> float:
    return sum((each.per_second for each in ended.values()), 0.0)


def _row(version: VersionReading, now_ns: int, ended: _Ended | None) -> ModelRow:
    took = sorted(ns for at, ns in version.latest if now_ns - at <= LATENCY_NS)
    return ModelRow(
        version.name,
        version.version,
        version.state,
        version.reason,
        version.busy,
        version.instances,
        version.waiting,
        math.nan if ended is None else ended.per_second,
        _percentile_us(took, 50),
        _percentile_us(took, 95),
        version.succeeded + version.failed,
        version.failed,
        0 if ended is None else ended.failed,
        _percentile_us(took, 99),
        math.nan if ended is None else ended.queued_us,
        math.nan if ended is None else ended.batch,
    )


def _percentile_us(took: Sequence[int], percent: int) -> float:
    """Return the percentile of times in microseconds; NaN without times."""
    if not took:
        return math.nan
    return took[math.ceil(len(took) * percent / 100) - 1] / 1e3
