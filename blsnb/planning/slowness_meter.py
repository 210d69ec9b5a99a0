"""How slow each processor is at each time: small work, timed again and again.

Virtual machines share processors with others. On one of them the same work took 1.0 to
1.7 times as long, for milliseconds to minutes, while the system showed no other load.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple, Self, TypeVar

import numpy as np

from blsnb.engine.threads.watcher import Watcher
from blsnb.planning.simulation.pace import STEP_NS, Slowness

Found = TypeVar("Found")
_ROUNDS = 150
"""Rounds of a hash, some 0.1 ms: without the interpreter lock, and always the same."""
_MOST = 8
_END_S = 1.0
_AROUND = 1
"""Number of samples on each side with which one is compared: an interrupt is no spell.
"""
_NOTICED = 0.1
"""Minimum relative difference of the mean slowness that is worth a remark."""
_SLOWEST = 95
_SPELLS = (
    "The processors were not equally fast all the time: for 5 % of it the same work "
    "took {:.2f} times as long as on average, or longer. The simulation varies them in "
    "the same way."
)
_OTHER_SPEED = (
    "The same work took {:.2f} times as long on these processors as while the models "
    "were observed. Observe the models again."
)


class Sample(NamedTuple):
    """A time on the monotonic clock, and how long the work took then."""

    at_ns: int
    cost_ns: int


class Costs(NamedTuple):
    """How long the same work took, of each processor in each step, in ns.

    Parameters
    ----------
    steps
        A row for each processor, all with the same steps of `STEP_NS`; empty if it is
        not known.
    """

    steps: tuple[tuple[float, ...], ...] = ()

    @property
    def mean_ns(self) -> float:
        """Mean over all processors and steps; 0 if it is not known."""
        return float(np.mean(self.steps)) if self.steps else 0.0

    def relative(self, unit_ns: float) -> Slowness:
        """Return the slowness in relation to a processor that takes this long."""
        return tuple(tuple(each / unit_ns for each in row) for row in self.steps)

    def factor(self, unit_ns: float) -> float:
        """Return the mean slowness in relation to this; 1 if one is not known."""
        return self.mean_ns / unit_ns if self.mean_ns and unit_ns else 1.0


UNKNOWN = Costs()


def joined(parts: Iterable[Costs]) -> Costs:
    """Return the costs of several times, one after the other."""
    known = [each.steps for each in parts if each.steps]
    rows = min(map(len, known), default=0)
    return Costs(
        tuple(sum((each[row] for each in known), start=()) for row in range(rows))
    )


def costs(samples: Sequence[Sequence[Sample]], from_ns: int, until_ns: int) -> Costs:
    """Return the costs within a time from samples of each processor."""
    times = np.arange(from_ns + STEP_NS // 2, until_ns, STEP_NS)
    if not len(times) or not samples or not all(samples):
        return UNKNOWN
    rows = [np.array(each, float).T for each in samples]
    steady = ((at, _medians(taken)) for at, taken in rows)
    return Costs(tuple(tuple(np.interp(times, at, ns).tolist()) for at, ns in steady))


def _medians(values: Sequence[float]) -> list[float]:
    """Return the median of each value and of those around it."""
    found = []
    for place in range(len(values)):
        near = values[max(0, place - _AROUND) : place + _AROUND + 1]
        found.append(float(np.median(near)))
    return found


def spell_remarks(costs: Costs) -> tuple[str, ...]:
    """Return a sentence on processors that were slow for a part of the time."""
    if not costs.steps:
        return ()
    factor = float(np.percentile(costs.steps, _SLOWEST)) / costs.mean_ns
    return (_SPELLS.format(factor),) if factor > 1 + _NOTICED else ()


def speed_remarks(factor: float) -> tuple[str, ...]:
    """Return a sentence on processors that are slower, or faster, than before."""
    return (_OTHER_SPEED.format(factor),) if abs(factor - 1) > _NOTICED else ()


class SlownessMeter:
    """Times small work on processors that this process may use, 50 times a second.

    It takes 0.5 % of each of them, eight at most.
    """

    def __init__(self) -> None:
        usable = sorted(os.sched_getaffinity(0))[:_MOST]
        self._samples: dict[int, list[Sample]] = {each: [] for each in usable}
        self._watchers = [
            Watcher(partial(self._sample, each), STEP_NS / 1e9, f"blsnb speed {each}")
            for each in usable
        ]
        self.costs = UNKNOWN
        """What was found, after the end."""

    def __enter__(self) -> Self:
        self._from_ns = time.monotonic_ns()
        for each in self._watchers:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._watchers:
            each.close(_END_S)
        samples = list(self._samples.values())
        self.costs = costs(samples, self._from_ns, time.monotonic_ns())

    def _sample(self, processor: int) -> None:
        # Of this thread alone.
        os.sched_setaffinity(0, {processor})
        at_ns, began_ns = time.monotonic_ns(), time.thread_time_ns()
        hashlib.pbkdf2_hmac("sha256", b"", b"", _ROUNDS)
        sample = Sample(at_ns, time.thread_time_ns() - began_ns)
        self._samples[processor].append(sample)


def metered(measure: Callable[[], Found]) -> tuple[Found, Costs]:
    """Return a measurement, and how slow the processors were."""
    with SlownessMeter() as meter:
        found = measure()
    return found, meter.costs
