"""The chosen configuration of a plan under the load: measured beside predicted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from blsnb.benchmark.arrivals import POISSON, Arrivals, arrivals_at
from blsnb.benchmark.client import Sender
from blsnb.benchmark.level import Load
from blsnb.benchmark.measure import closed_row, open_row
from blsnb.benchmark.samples import LoadRow, failures
from blsnb.planning.calibration import WORLDS
from blsnb.planning.plans.outcome import ComparedConfigurations
from blsnb.planning.plans.plan_text import estimate
from blsnb.planning.simulation.loads import open_loop
from blsnb.planning.slowness_meter import Costs, joined, metered, speed_remarks
from blsnb.printable import counted, in_columns, printable
from blsnb.views.format import time

_HEAD = ("rate", "", "predicted", "measured", "difference", "measurements")
_WARM_UP = Load(2.0, 50)
MAX_REQUESTS = 100_000
"""Maximum number of requests of a measurement."""
_NO_ANSWERS = "no answers"


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
    rows: tuple[LoadRow, ...]

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
    remarks
        What makes the comparison uncertain, as sentences.
    """

    plan: ComparedConfigurations
    checked: tuple[Checked, ...]
    remarks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        found = [abs(difference(each, 50)) for each in self.checked]
        known = [share for share in found if not math.isnan(share)]
        texts = []
        if known:
            rates = counted(len(known), "rate")
            texts.append(f"p50 within {max(known):.0%} at {rates}")
        if len(known) < len(found):
            rates = counted(len(found) - len(known), "rate")
            texts.append(f"{_NO_ANSWERS} at {rates}")
        return printable(f"<Check of {self.plan.model_name}: {', '.join(texts)}>")

    def __str__(self) -> str:
        head, rows = self.table()
        cells = in_columns([head, *rows])
        lines = [self.caption, *cells, *self.remarks, *self.errors]
        return "\n".join(map(printable, lines))

    @property
    def caption(self) -> str:
        """What was measured, in a line."""
        calibration = self.plan.calibration
        return (
            f"{self.plan.model_name}, measured for {WORLDS[calibration.world]}; the "
            "calibration reproduces its own measurements within "
            f"{calibration.error:.0%}"
        )

    @property
    def errors(self) -> list[str]:
        """Error texts of failed requests with their counts."""
        return failures([row for each in self.checked for row in each.rows])

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
        _answered(
            checked.p50_us if percent == 50 else checked.p99_us,
            lambda us: estimate(us, error),
        ),
        _answered(_median(measured), time),
        _answered(difference(checked, percent), "{:+.1%}".format),
        ", ".join(_answered(each, time) for each in np.sort(measured)),
    )


def _answered(value: float, spelled: Callable[[float], str]) -> str:
    """Return a value as text; NaN as having no answers."""
    return _NO_ANSWERS if math.isnan(value) else spelled(value)


def _measured_us(checked: Checked, percent: int) -> list[float]:
    return [row.p50_us if percent == 50 else row.p99_us for row in checked.rows]


def _median(values: Sequence[float]) -> float:
    """Return the median of the measurements with answers; NaN without any."""
    known = [value for value in values if not math.isnan(value)]
    return float(np.median(known)) if known else math.nan


def difference(checked: Checked, percent: int) -> float:
    """Return how far a prediction is above the median measurement, as a share.

    NaN without answers, simulated or measured.
    """
    predicted = checked.p50_us if percent == 50 else checked.p99_us
    return predicted / _median(_measured_us(checked, percent)) - 1


def check(
    plan: ComparedConfigurations, sender: Sender, load: Load, measurements: int
) -> Check:
    """Measure the best configuration of a plan, which a server has.

    Parameters
    ----------
    load
        Limits of each measurement.
    """
    closed_row(sender, 1, _WARM_UP)
    checked, costs = list[Checked](), list[Costs]()
    for rate in _some(plan.rates):
        count = load.count(rate)
        loads = [
            arrivals_at(POISSON, rate, count, plan.seed + number)
            for number in range(measurements)
        ]
        p50_us, p99_us = predicted(plan, loads)
        measured = [metered(partial(open_row, sender, each)) for each in loads]
        rows, spent = zip(*measured, strict=True)
        costs += spent
        checked.append(Checked(rate, p50_us, p99_us, rows))
    factor = joined(costs).factor(plan.calibration.probe_ns)
    return Check(plan, tuple(checked), speed_remarks(factor))


def _some(rates: Sequence[float]) -> list[float]:
    """Return the lowest rate, one between, and the highest."""
    return sorted({rates[0], rates[len(rates) // 2], rates[-1]})


def predicted(
    plan: ComparedConfigurations, loads: Sequence[Arrivals]
) -> tuple[float, float]:
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
