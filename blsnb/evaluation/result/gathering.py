"""Results collected in order of completion, and the evaluation made of them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from blsnb.evaluation.keeper import Keeper
from blsnb.evaluation.plain import Row, RowResult
from blsnb.evaluation.result.columns import ResultColumns, ordered, ordered_objects
from blsnb.evaluation.result.evaluation import Evaluation
from blsnb.evaluation.result.metrics import MetricColumn, MetricFunction

_STORED = "its result was stored by an earlier evaluation"


class Gathering:
    """Results so far: columns, values of metrics, and whole runs.

    Parameters
    ----------
    model_name
        The evaluated model.
    metrics
        The metrics, which are called on this thread.
    outputs
        Names of the outputs to keep; None for the small ones.
    keep
        Maximum number of whole runs kept for each reason.
    """

    def __init__(
        self,
        model_name: str,
        metrics: Iterable[MetricFunction] = (),
        outputs: tuple[str, ...] | None = None,
        keep: int = 20,
    ) -> None:
        self._model_name = model_name
        self._metrics = tuple(metrics)
        self._columns = ResultColumns(outputs)
        directions = {each.name: each.higher_is_better for each in self._metrics}
        self._keeper = Keeper(keep, directions)
        self._runs: dict[int, Any] = {}
        self._rows: dict[int, Row] = {}
        """Executed rows that are kept and have no run, by number."""
        self._reasons: dict[int, str] = {}
        self.stored = 0
        """Number of rows that an earlier evaluation had executed."""

    @property
    def done(self) -> int:
        """Number of completed rows."""
        return len(self._columns)

    @property
    def failed(self) -> int:
        """Number of failed rows."""
        return len(self._columns.errors)

    def add_stored(self, row: Row, result: RowResult) -> None:
        """Add a result of an earlier evaluation, whose row is not executed."""
        self.add(row, result)
        self._rows.pop(row.number, None)
        self.stored += 1

    def add(self, row: Row, result: RowResult) -> None:
        """Add the result of an executed row."""
        values: dict[str, float] = {}
        if not result.error:
            for metric in self._metrics:
                values[metric.name], error = metric.value(row, result.outputs)
                if error:
                    self._columns.note_metric_error(metric.name, row.number, error)
        self._columns.add(row, result, values)
        for dropped in self._keeper.offer(result, values):
            self._runs.pop(dropped, None)
            self._rows.pop(dropped, None)
        if result.number not in self._keeper:
            return
        if result.run is not None:
            self._runs[result.number] = result.run
        elif values:
            self._rows[result.number] = row

    def rows_to_repeat(self) -> list[Row]:
        """Return the executed worst rows of metrics that have no run, in order."""
        worst = self._worst()
        return [self._rows[at] for at in sorted(self._rows) if at in worst]

    def add_run(self, result: RowResult) -> None:
        """Keep the run of a row that was executed once more."""
        if result.error or result.run is None:
            error = result.error or "no run was recorded"
            failed = f"it failed when it was executed once more: {error}"
            self.give_up(result.number, failed)
        elif self._rows.pop(result.number, None) is not None:
            self._runs[result.number] = result.run

    def give_up(self, number: int, reason: str) -> None:
        """Leave a worst row without a run, for a reason."""
        self._rows.pop(number, None)
        self._reasons[number] = reason

    def _worst(self) -> set[int]:
        ranked = (self._keeper.worst(each.name) for each in self._metrics)
        return {number for rows in ranked for number in rows}

    def _without_run(self) -> dict[int, str]:
        missing = sorted(self._worst() - self._runs.keys())
        return {number: self._reasons.get(number, _STORED) for number in missing}

    def evaluation(self, *, duration_s: float, interrupted: bool = False) -> Evaluation:
        """Return the evaluation of the rows so far, in the order of the data set."""
        columns, keeper = self._columns, self._keeper
        numbers = np.array(columns.numbers, np.int64)
        order = np.argsort(numbers, kind="stable")
        return Evaluation(
            model_name=self._model_name,
            numbers=numbers[order],
            latency_us=ordered(columns.latency_us, order),
            queue_us=ordered(columns.queue_us, order),
            model_us=_sorted(ordered, columns.model_us, order),
            calls=dict(columns.calls),
            errors={at: columns.errors[at] for at in sorted(columns.errors)},
            metrics={each.name: self._metric(each, order) for each in self._metrics},
            outputs=_sorted(ordered_objects, columns.outputs, order),
            rest=_sorted(ordered_objects, columns.rest, order),
            left_out=tuple(sorted(columns.left_out)),
            runs=dict(self._runs),
            slowest=keeper.slowest(),
            worst={each.name: keeper.worst(each.name) for each in self._metrics},
            failures=keeper.failures(),
            without_run=self._without_run(),
            duration_s=duration_s,
            interrupted=interrupted,
            stored=self.stored,
        )

    def _metric(self, metric: MetricFunction, order: Any) -> MetricColumn:
        name, columns = metric.name, self._columns
        values = ordered(columns.metrics.get(name, array("d")), order)
        errors = dict(sorted(columns.metric_errors.get(name, {}).items()))
        return MetricColumn(name, values, metric.higher_is_better, errors)


def _sorted(
    sort: Callable[[Any, Any], Any], columns: Mapping[str, Any], order: Any
) -> dict[str, Any]:
    return {name: sort(column, order) for name, column in columns.items()}
