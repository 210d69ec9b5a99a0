"""How slow each processor is at each time: small work, timed again and again.

Virtual machines share processors with others. On one of them the same work took 1.0 to
1.7 times as long, for milliseconds to minutes, while the system showed no other load;
and the host ran something else for a fifth of a minute, in pieces of milliseconds.
Linux counts this as stolen time: it is no processor time of any process.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self, TypeVar

import numpy as np

from blsnb.engine.threads.watcher import Watcher
from blsnb.planning.machine_meter import PROC, text_of
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
_WITHIN_NS = 100_000_000
"""Time before and after a step whose ticks say what was stolen in it: a tick takes
10 ms, and most pieces of stolen time are shorter.
"""
_PRIOR_TICKS = 0.5
"""Ticks in which a processor is taken to compute in that time, so that all work ends.
"""
_STOLEN_SHARE = 0.02
"""Minimum stolen share of the time that is worth a remark."""
_SPELLS = (
    "The processors were not equally fast all the time: for 5 % of it the same work "
    "took {:.2f} times as long as on average, or longer. The simulation varies them in "
    "the same way."
)
_STOLEN_TIME = (
    "The host of this virtual machine took its processors away for {:.0%} of the time "
    "in which they had work. The simulation does the same."
)
_OTHER_SPEED = (
    "The same work took {:.2f} times as long on these processors as while the models "
    "were observed. Observe the models again."
)


class Ticks(NamedTuple):
    """Ticks in which a processor computed, and those that the host took away."""

    busy: int = 0
    stolen: int = 0


def processor_ticks(number: int, proc: Path = PROC) -> Ticks:
    """Read the ticks of a processor; zeros where the system does not count them."""
    for line in text_of(proc / "stat").splitlines():
        if line.startswith(f"cpu{number} "):
            user, nice, system, _, _, irq, softirq, stolen = map(int, line.split()[1:9])
            return Ticks(user + nice + system + irq + softirq, stolen)
    return Ticks()


class SlownessSample(NamedTuple):
    """How long the work took at a time on the monotonic clock, and the ticks then."""

    at_ns: int
    cost_ns: int
    ticks: Ticks = Ticks()


class Costs(NamedTuple):
    """How long the same work took, of each processor in each step, in ns.

    Parameters
    ----------
    steps
        A row for each processor, all with the same steps of `STEP_NS`; empty if it is
        not known.
    stolen
        Share of each of these steps that the host took away; empty for nothing.
    """

    steps: tuple[tuple[float, ...], ...] = ()
    stolen: tuple[tuple[float, ...], ...] = ()

    @property
    def mean_ns(self) -> float:
        """Mean over all processors and steps; 0 if it is not known."""
        return float(np.mean(self.steps)) if self.steps else 0.0

    @property
    def deviation(self) -> float:
        """Standard deviation in relation to the mean; 0 if it is not known."""
        return float(np.std(self.steps)) / self.mean_ns if self.steps else 0.0

    @property
    def mean_stolen(self) -> float:
        """Mean share that the host took away."""
        return float(np.mean(self.stolen)) if self.stolen else 0.0

    def relative(self, unit_ns: float) -> Slowness:
        """Return the slowness in relation to a processor that takes this long.

        Stolen time makes work longer.
        """
        found = np.array(self.steps) / unit_ns
        if self.stolen:
            found = found / (1 - np.array(self.stolen))
        return tuple(map(tuple, found.tolist()))

    def factor(self, unit_ns: float) -> float:
        """Return the mean slowness in relation to this; 1 if one is not known."""
        return self.mean_ns / unit_ns if self.mean_ns and unit_ns else 1.0


UNKNOWN = Costs()


def joined(parts: Iterable[Costs]) -> Costs:
    """Return the costs of several times, one after the other."""
    known = [each for each in parts if each.steps]
    if not known:
        return UNKNOWN
    steps = _in_turn([each.steps for each in known])
    if not any(each.stolen for each in known):
        return Costs(steps)
    stolen = [each.stolen or np.zeros_like(each.steps).tolist() for each in known]
    return Costs(steps, _in_turn(stolen))


def _in_turn(
    parts: Sequence[Sequence[Sequence[float]]],
) -> tuple[tuple[float, ...], ...]:
    """Return the rows of each part after those of the parts before it."""
    rows = min(map(len, parts))
    return tuple(
        tuple(itertools.chain.from_iterable(part[row] for part in parts))
        for row in range(rows)
    )


def costs(
    samples: Sequence[Sequence[SlownessSample]], from_ns: int, until_ns: int
) -> Costs:
    """Return the costs within a time from samples of each processor."""
    times = np.arange(from_ns + STEP_NS // 2, until_ns, STEP_NS)
    if not len(times) or not samples or not all(samples):
        return UNKNOWN
    found, stolen = [], []
    for row in samples:
        at = np.array([each.at_ns for each in row])
        # Each value becomes the median of those around it.
        values = [each.cost_ns for each in row]
        steady = []
        for place in range(len(values)):
            near = values[max(0, place - _AROUND) : place + _AROUND + 1]
            steady.append(float(np.median(near)))
        found.append(tuple(np.interp(times, at, steady).tolist()))
        stolen.append(_stolen(times, at, np.array([each.ticks for each in row])))
    return Costs(tuple(found), tuple(stolen))


def _stolen(times: np.ndarray, at: np.ndarray, ticks: np.ndarray) -> tuple[float, ...]:
    """Return the share that was stolen around each time."""
    last = len(at) - 1
    first = np.searchsorted(at, times - _WITHIN_NS, "right") - 1
    until = np.searchsorted(at, times + _WITHIN_NS, "left")
    busy, stolen = (ticks[until.clip(0, last)] - ticks[first.clip(0, last)]).T
    return tuple((stolen / (stolen + busy + _PRIOR_TICKS)).tolist())


def spell_remarks(costs: Costs) -> tuple[str, ...]:
    """Return sentences on processors that were slow, or taken away, at times."""
    if not costs.steps:
        return ()
    factor = float(np.percentile(costs.steps, _SLOWEST)) / costs.mean_ns
    slow = (_SPELLS.format(factor),) if factor > 1 + _NOTICED else ()
    share = costs.mean_stolen
    return slow + ((_STOLEN_TIME.format(share),) if share > _STOLEN_SHARE else ())


def speed_remarks(factor: float) -> tuple[str, ...]:
    """Return a sentence on processors that are slower, or faster, than before."""
    return (_OTHER_SPEED.format(factor),) if abs(factor - 1) > _NOTICED else ()


class SlownessMeter:
    """Times small work on processors that this process may use, 50 times a second.

    It takes 0.5 % of each of them, eight at most.
    """

    def __init__(self) -> None:
        usable = sorted(os.sched_getaffinity(0))[:_MOST]
        self._samples: dict[int, list[SlownessSample]] = {each: [] for each in usable}
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
        cost_ns = time.thread_time_ns() - began_ns
        sample = SlownessSample(at_ns, cost_ns, processor_ticks(processor))
        self._samples[processor].append(sample)


def metered(measure: Callable[[], Found]) -> tuple[Found, Costs]:
    """Return a measurement, and how slow the processors were."""
    with SlownessMeter() as meter:
        found = measure()
    return found, meter.costs
