"""Values of user functions, with their means and bootstrap intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from blsnb.arguments import check_callable, check_type
from blsnb.evaluation.plain import Row
from blsnb.evaluation.result.columns import Floats
from blsnb.printable import printable

Metric = Callable[[Mapping[str, Any], Mapping[str, Any]], float]
"""Receives the values of a row and the outputs of its run; returns a number."""

_RESAMPLES = 2000
_SEED = 20_240_229
_MAX_DRAWN = 1024
"""Maximum number of groups that are resampled; more values share groups."""
_COVERAGE = (2.5, 97.5)
_PART = 2.0**-64
"""Factor of large values; a power of two, which changes no digit."""


class Interval(NamedTuple):
    """A mean with its 95 % bootstrap interval; NaN without values."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        if math.isnan(self.mean):
            return "has no value"
        return f"{self.mean:.4g} [{self.low:.4g}, {self.high:.4g}]"


@dataclass(frozen=True, slots=True)
class MetricFunction:
    """A metric with its direction.

    Parameters
    ----------
    name
        Name of its column.
    function
        The function.
    higher_is_better
        Whether rows with low values are the worst ones.
    """

    name: str
    function: Metric
    higher_is_better: bool = True

    def value(self, row: Row, outputs: Mapping[str, Any]) -> tuple[float, str]:
        """Return the value for a row, and the text of the failure; NaN if it failed."""
        try:
            value = self.function({**row.inputs, **row.rest}, outputs)
            return float(value), ""
        except Exception as error:
            return math.nan, f"{type(error).__name__}: {error}"


def metric_functions(
    metrics: Mapping[str, Metric] | None, lower_is_better: frozenset[str]
) -> tuple[MetricFunction, ...]:
    """Return the metrics of an evaluation.

    Raises
    ------
    TypeError
        An argument has the wrong type.
    ValueError
        ``lower_is_better`` names an unknown metric.
    """
    check_type("metrics", metrics, Mapping | None, "a dict of names and functions")
    given = dict(metrics or {})
    for name, function in given.items():
        check_type("metrics", name, str, "a dict whose keys are strings")
        check_callable(**{f"metrics[{name!r}]": function})
    if unknown := lower_is_better - given.keys():
        raise ValueError(
            f"lower_is_better={sorted(unknown)!r} is not valid; expected names among "
            f"those of metrics, {sorted(given)!r}"
        )
    return tuple(
        MetricFunction(name, function, name not in lower_is_better)
        for name, function in given.items()
    )


def mean_interval(values: Floats) -> Interval:
    """Return the mean of values, and its 95 % bootstrap interval; NaN is left out.

    The generator's seed is fixed: equal values have equal intervals. More than 1,024
    values are gathered into as many groups at random, and groups are resampled: the
    interval remains that of the mean, at a bounded cost.
    """
    values = values[~np.isnan(values)]
    if not len(values):
        return Interval(math.nan, math.nan, math.nan)
    # Sums of the largest numbers would overflow, but not those of their parts.
    part = _PART if np.abs(values).max() >= 1 / _PART else 1.0
    values = values * part
    with np.errstate(invalid="ignore"):
        mean = float(values.mean())
    if len(values) == 1 or not np.isfinite(mean):
        return Interval(mean / part, mean / part, mean / part)
    random = np.random.default_rng(_SEED)
    sums, counts = _groups(values, random)
    drawn = random.integers(0, len(sums), (_RESAMPLES, len(sums)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.percentile(means, _COVERAGE)
    found = np.clip((mean, low, high), values.min(), values.max()) / part
    return Interval(*found.tolist())


def _groups(values: Floats, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the sums and sizes of the groups that are resampled."""
    if len(values) <= _MAX_DRAWN:
        return values, np.ones(len(values))
    group = random.permutation(len(values)) % _MAX_DRAWN
    sums = np.bincount(group, values).astype(np.float64)
    counts: Floats = np.bincount(group).astype(np.float64)
    return sums, counts


@dataclass(frozen=True, eq=False)
class MetricColumn:
    """The values of one metric.

    Parameters
    ----------
    name
        Name of the metric.
    values
        A value for each row; NaN where the row or the metric failed.
    higher_is_better
        Whether low values are the worst ones.
    errors
        Text of the metric's own failures by row number.
    """

    name: str
    values: Floats
    higher_is_better: bool = True
    errors: Mapping[int, str] = field(default_factory=dict)

    @cached_property
    def interval(self) -> Interval:
        """The mean of the values with its 95 % bootstrap interval."""
        return mean_interval(self.values)

    def __repr__(self) -> str:
        failed = f", {len(self.errors):,} failed" if self.errors else ""
        return printable(f"<MetricColumn {self.name}: {self.interval}{failed}>")
