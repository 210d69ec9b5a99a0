"""Two evaluations of one data set, row by row."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from blsnb.arguments import check_whole
from blsnb.evaluation.result.columns import Floats
from blsnb.evaluation.result.metrics import Interval, MetricColumn, mean_interval
from blsnb.printable import counted, printable
from blsnb.results.run import Run
from blsnb.tensors.convert import to_ref
from blsnb.tensors.difference import TensorDifference, difference


class RowChange(NamedTuple):
    """The output of a row that deviates most between two evaluations.

    Parameters
    ----------
    row
        Number of the row.
    output
        Name of the output.
    largest
        Largest absolute deviation; infinite without one: for texts, NaN on one
        side, other shapes or another number of responses.
    """

    row: int
    output: str
    largest: float


@dataclass(frozen=True, eq=False)
class MetricDifference:
    """A metric in two evaluations, on the rows that have it in both.

    Parameters
    ----------
    name
        Name of the metric.
    differences
        Value of this evaluation minus that of the earlier one, row by row.
    higher_is_better
        Direction of the metric.
    """

    name: str
    differences: Floats
    higher_is_better: bool

    @cached_property
    def interval(self) -> Interval:
        """The mean difference with its paired 95 % bootstrap interval."""
        return mean_interval(self.differences)

    @property
    def worse(self) -> int:
        """Number of rows that became worse."""
        sign = -1 if self.higher_is_better else 1
        return int((sign * self.differences > 0).sum())

    @property
    def better(self) -> int:
        """Number of rows that became better."""
        return int((self.differences != 0).sum()) - self.worse

    @property
    def verdict(self) -> str:
        """Whether the metric became better or worse beyond chance."""
        _, low, high = self.interval
        if math.isnan(low) or low <= 0 <= high:
            return "no clear difference"
        return "better" if (low > 0) == self.higher_is_better else "worse"

    def __repr__(self) -> str:
        text = f"{self.interval}, {self.verdict}"
        return printable(f"<MetricDifference {self.name}: {text}>")


class Evaluated(Protocol):
    """An evaluation."""

    @property
    def model_name(self) -> str:
        """The evaluated model."""

    @property
    def numbers(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Numbers of its rows, ascending."""

    @property
    def outputs(self) -> Mapping[str, Sequence[Any]]:
        """Kept outputs by name."""

    @property
    def metrics(self) -> Mapping[str, MetricColumn]:
        """Metrics by name."""

    @property
    def errors(self) -> Mapping[int, tuple[str, str]]:
        """Code and text of failed rows by number."""

    @property
    def latency_us(self) -> Floats:
        """Latency of each row."""

    @property
    def model_us(self) -> Mapping[str, Floats]:
        """Time of each model's own code by name."""

    @property
    def runs(self) -> Mapping[int, Any]:
        """Whole runs of some rows by number."""

    def run(self, row: int) -> Run:
        """Return the whole run of a row."""


class EvaluationComparison:
    """Two evaluations of one data set, on the rows that both have.

    Parameters
    ----------
    this
        The later evaluation.
    earlier
        The earlier one.

    Raises
    ------
    ValueError
        They have no row in common.
    """

    def __init__(self, this: Evaluated, earlier: Evaluated) -> None:
        self.this, self.earlier = this, earlier
        self.rows, self._at, self._before = np.intersect1d(
            this.numbers, earlier.numbers, assume_unique=True, return_indices=True
        )
        if not len(self.rows):
            raise ValueError(
                f"the evaluations have no row in common: this one has "
                f"{counted(len(this.numbers), 'row')}, the earlier one "
                f"{len(earlier.numbers):,}"
            )
        shared = set(self.rows.tolist())
        now, before = shared & this.errors.keys(), shared & earlier.errors.keys()
        self.newly_failed = sorted(now - before)
        """Rows that fail now and did not before."""
        self.fixed = sorted(before - now)
        """Rows that failed before and no longer do."""
        names = [name for name in this.outputs if name in earlier.outputs]
        self.compared_outputs = tuple(names)
        """Names of the outputs that both have kept."""

    def __repr__(self) -> str:
        said = [f"{counted(len(self.newly_failed), 'row')} newly failed"]
        said += [f"{len(self.fixed):,} fixed", f"{len(self.changed):,} changed"]
        said += [f"{each.name} {each.verdict}" for each in self.metrics.values()]
        name = self.this.model_name
        return printable(f"<EvaluationComparison {name}: {', '.join(said)}>")

    @cached_property
    def changed(self) -> list[RowChange]:
        """Rows whose kept outputs changed, the largest deviation first."""
        return sorted(self._changes(), key=lambda each: -each.largest)

    @cached_property
    def metrics(self) -> dict[str, MetricDifference]:
        """Differences of the metrics that both have, by name."""
        found = {}
        for name, column in self.this.metrics.items():
            if name in self.earlier.metrics:
                values = self.paired(column.values, self.earlier.metrics[name].values)
                differences = _subtracted(*values)
                is_known = ~np.isnan(differences)
                found[name] = MetricDifference(
                    name, differences[is_known], column.higher_is_better
                )
        return found

    def paired(self, now: Floats, before: Floats) -> tuple[Floats, Floats]:
        """Return two columns of the evaluations, on the rows that both have."""
        return now[self._at], before[self._before]

    def differences(self, row: int) -> list[TensorDifference]:
        """Return how the kept outputs of a row differ from the earlier ones.

        Raises
        ------
        TypeError
            The row is not a whole number.
        KeyError
            The evaluations do not both have the row.
        """
        check_whole(row=row)
        places = np.flatnonzero(self.rows == row).tolist()
        if not places:
            raise KeyError(f"row {row} is not in both evaluations")
        at, before = int(self._at[places[0]]), int(self._before[places[0]])
        found = [
            _difference(name, *pair)
            for name in self.compared_outputs
            for pair in _pairs(
                self.this.outputs[name][at], self.earlier.outputs[name][before]
            )
        ]
        return [each for each in found if each]

    def _changes(self) -> Iterator[RowChange]:
        columns = [
            (name, self.this.outputs[name], self.earlier.outputs[name])
            for name in self.compared_outputs
        ]
        places = (self.rows.tolist(), self._at.tolist(), self._before.tolist())
        for row, at, before in zip(*places, strict=True):
            largest, most = -1.0, ""
            for name, now, earlier in columns:
                found = _largest(now[at], earlier[before])
                if found > largest:
                    largest, most = found, name
            if largest >= 0:
                yield RowChange(row, most, largest)


def _subtracted(now: Floats, before: Floats) -> Floats:
    """Return differences; the largest number where finite values have a larger one."""
    with np.errstate(over="ignore", invalid="ignore"):
        found: Floats = now - before
    is_finite = np.isfinite(now) & np.isfinite(before)
    found[is_finite] = np.nan_to_num(found[is_finite])
    return found


def _largest(now: Any, before: Any) -> float:
    """Return the largest deviation of two values; -1 if they are equal or missing."""
    if now is None or before is None:
        # The row failed in one of them: it is listed there.
        return -1.0
    amounts = (_amount(_difference("", *pair)) for pair in _pairs(now, before))
    return max(amounts, default=-1.0)


def _pairs(now: Any, before: Any) -> Iterator[tuple[Any, Any]]:
    """Return the arrays of two values; those of a decoupled model one by one."""
    ours = now if isinstance(now, list) else [now]
    theirs = before if isinstance(before, list) else [before]
    return itertools.zip_longest(ours, theirs)


def _difference(name: str, now: Any, before: Any) -> TensorDifference:
    this, baseline = (
        None if value is None else to_ref(name, np.asarray(value), None, 0)
        for value in (now, before)
    )
    return difference(this, baseline, name)


def _amount(found: TensorDifference) -> float:
    if not found:
        return -1.0
    if found.largest is not None:
        return float(found.largest)
    # Equal values of another datatype deviate by nothing.
    return math.inf if found.differing or not found.count else 0.0
