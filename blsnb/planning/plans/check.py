"""The chosen configuration of a plan under the load: measured beside predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from blsnb.benchmark.arrivals import POISSON, Arrivals, arrivals_at
from blsnb.benchmark.client import Sender
from blsnb.benchmark.level import Load
from blsnb.benchmark.measure import closed_row, open_row
from blsnb.benchmark.samples import Row
from blsnb.planning.calibration import WORLDS
from blsnb.planning.plans.outcome import Outcome
from blsnb.planning.plans.plan_text import aligned, estimate
from blsnb.planning.simulation.loads import open_loop
from blsnb.printable import counted, printable
from blsnb.views.format import time

_HEAD = ("rate", "", "predicted", "measured", "difference", "measurements")
_WARM_UP = Load(2.0, 50)
_MAX_REQUESTS = 100_000
_MAX_RATES = 3
"""Maximum number of rates: the lowest, one between, and the highest."""


class Checked(NamedTuple):
    """A rate, as it was simulated and measured.

    Parameters
    ----------
    p50_us, p99_us
        Simulated latencies: the median over the same arrivals as those measured.
    rows
        The measurements.
    """

    rate: float
    p50_us: float
    p99_us: float
    rows: tuple[Row, ...]

    @property
    def is_held(self) -> bool:
        """Whether the server kept up with the rate, in most measurements."""
        return 2 * sum(row.is_held for row in self.rows) > len(self.rows)


@dataclass(frozen=True, repr=False)
class Check:
    """Predictions of a plan beside measurements: what `Plan.check` returns.

    Parameters
    ----------
    plan
        The plan, whose best configuration was measured.
    checked
        A row for each rate.
    """

    plan: Outcome
    checked: tuple[Checked, ...]

    def __repr__(self) -> str:
        worst = max(abs(difference(each, 50)) for each in self.checked)
        return printable(
            f"<Check of {self.plan.model_name}: "
            f"p50 within {worst:.0%} at {counted(len(self.checked), 'rate')}>"
        )

    def __str__(self) -> str:
        return "\n".join(map(printable, [self.caption, *aligned(*self.table())]))

    @property
    def caption(self) -> str:
        """What was measured, in a line."""
        calibration = self.plan.calibration
        return (
            f"{self.plan.model_name}, measured for {WORLDS[calibration.world]}; the "
            "calibration reproduces its own measurements within "
            f"{calibration.error:.0%}"
        )

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return the head of a table, and two lines for each rate."""
        return _HEAD, [
            _line(each, percent, self.plan.calibration.error)
            for each in self.checked
            for percent in (50, 99)
        ]


def _line(checked: Checked, percent: int, error: float) -> tuple[str, ...]:
    held = "" if checked.is_held else " (not held)"
    measured = _measured_us(checked, percent)
    return (
        f"{checked.rate:g}/s{held}",
        f"p{percent}",
        estimate(checked.p50_us if percent == 50 else checked.p99_us, error),
        time(float(np.median(measured))),
        f"{difference(checked, percent):+.1%}",
        ", ".join(map(time, sorted(measured))),
    )


def _measured_us(checked: Checked, percent: int) -> list[float]:
    return [row.p50_us if percent == 50 else row.p99_us for row in checked.rows]


def difference(checked: Checked, percent: int) -> float:
    """Return how far a prediction is above the median measurement, as a share."""
    predicted = checked.p50_us if percent == 50 else checked.p99_us
    return predicted / float(np.median(_measured_us(checked, percent))) - 1


def check(plan: Outcome, sender: Sender, duration_s: float, measurements: int) -> Check:
    """Measure the best configuration of a plan, which a server has.

    Parameters
    ----------
    duration_s
        Seconds of each measurement.
    """
    closed_row(sender, 1, _WARM_UP)
    checked = []
    for rate in _some(plan.rates):
        loads = [
            arrivals_at(
                POISSON, rate, Load(duration_s, _MAX_REQUESTS), plan.seed + number
            )
            for number in range(measurements)
        ]
        p50_us, p99_us = predicted(plan, loads)
        rows = tuple(open_row(sender, each) for each in loads)
        checked.append(Checked(rate, p50_us, p99_us, rows))
    return Check(plan, tuple(checked))


def _some(rates: Sequence[float]) -> list[float]:
    if len(rates) <= _MAX_RATES:
        return list(rates)
    return [rates[0], rates[len(rates) // 2], rates[-1]]


def predicted(plan: Outcome, loads: Sequence[Arrivals]) -> tuple[float, float]:
    """Return the median of simulated p50 and p99, with the arrivals of each load."""
    calibration, option = plan.calibration, plan.best.option
    answers = [
        open_loop(
            calibration.simulation(option.configs, plan.cores, plan.seed + number),
            calibration.model_name,
            load.times_ns,
            mix=calibration.mix,
        )
        for number, load in enumerate(loads)
    ]
    return (
        float(np.median([each.percentile_us(50) for each in answers])),
        float(np.median([each.percentile_us(99) for each in answers])),
    )
