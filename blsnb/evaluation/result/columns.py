"""The results of rows, by column, as compact as arrays."""

from __future__ import annotations

import math
from array import array
from typing import Any, cast

import numpy as np

from blsnb.evaluation.plain import Row, RowResult

Floats = np.ndarray[Any, np.dtype[np.float64]]
SMALL_BYTES = 1024
"""Maximum size of an output that is kept without being requested by name."""
_MAX_TEXT = 200
_SCALARS = (str, bytes, bool, int, float, np.generic)


class ResultColumns:
    """The results of rows in order of completion; columns that lack a row are NaN.

    An interrupt between two columns leaves no row half written: a row counts once its
    number is written, and the next one overwrites what follows.

    Parameters
    ----------
    outputs
        Names of the outputs to keep, whatever their size; None for the small ones.
    """

    def __init__(self, outputs: tuple[str, ...] | None = None) -> None:
        self._wanted = outputs
        self.numbers = array("q")
        self.latency_us = array("d")
        self.queue_us = array("d")
        self.model_us: dict[str, array[float]] = {}
        self.metrics: dict[str, array[float]] = {}
        self.errors: dict[int, tuple[str, str]] = {}
        """Code and text of failed rows by row number; equal texts are one object."""
        self.metric_errors: dict[str, dict[int, str]] = {}
        self.outputs: dict[str, list[Any]] = {}
        self.rest: dict[str, list[Any]] = {}
        self.left_out: set[str] = set()
        """Names of outputs with values that were too large to keep unrequested."""
        self.calls: dict[str, int] = {}
        self._texts: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self.numbers)

    def add(self, row: Row, result: RowResult, metrics: dict[str, float]) -> None:
        """Add the result of a row with the values of its metrics."""
        at = len(self.numbers)
        _put(self.latency_us, at, result.latency_us)
        _put(self.queue_us, at, result.queue_us)
        for name, us in result.model_us.items():
            _put(_column(self.model_us, name), at, us)
        for name, value in metrics.items():
            _put(_column(self.metrics, name), at, value)
        for name, value in result.outputs.items():
            if self._keeps(name, value):
                _put(self.outputs.setdefault(name, []), at, value, None)
        for name, value in row.rest.items():
            if isinstance(value, _SCALARS) and _text_length(value) <= _MAX_TEXT:
                _put(self.rest.setdefault(name, []), at, value, None)
        if result.error:
            self.errors[result.number] = (
                self._one(result.code),
                self._one(result.error),
            )
        for name, calls in result.model_calls.items():
            self.calls[name] = self.calls.get(name, 0) + calls
        self.numbers.append(result.number)

    def note_metric_error(self, metric: str, number: int, text: str) -> None:
        """Note that a metric failed for a row."""
        self.metric_errors.setdefault(metric, {})[number] = self._one(text)

    def _one(self, text: str) -> str:
        return self._texts.setdefault(text, text)

    def _keeps(self, name: str, value: Any) -> bool:
        if self._wanted is not None:
            return name in self._wanted
        small = value_bytes(value) <= SMALL_BYTES
        if not small:
            self.left_out.add(name)
        return small


def value_bytes(value: Any) -> int:
    """Return the number of bytes of an output; text counts with its characters."""
    if isinstance(value, list):
        return sum(map(value_bytes, value))
    if not isinstance(value, np.ndarray):
        return len(value) if isinstance(value, bytes | str) else 8
    if value.dtype == object:
        return sum(len(item) + 8 for item in value.flat)
    return int(value.nbytes)


def ordered(column: array[float], order: Any) -> Floats:
    """Return a column in the order of the rows; NaN where it has no value."""
    values = np.full(len(order), math.nan)
    known = np.frombuffer(column, np.float64)[: len(order)]
    values[: len(known)] = known
    return cast(Floats, values[order])


def ordered_objects(column: list[Any], order: Any) -> list[Any]:
    """Return a column of objects in the order of the rows; None where it has none."""
    size = len(column)
    return [column[at] if at < size else None for at in order.tolist()]


def _column(columns: dict[str, array[float]], name: str) -> array[float]:
    found = columns.get(name)
    if found is None:
        found = columns[name] = array("d")
    return found


def _put(
    column: array[float] | list[Any], at: int, value: Any, missing: Any = math.nan
) -> None:
    if at < len(column):
        del column[at:]
    elif at > len(column):
        column.extend([missing] * (at - len(column)))
    column.append(value)


def _text_length(value: Any) -> int:
    return len(value) if isinstance(value, str | bytes) else 0
