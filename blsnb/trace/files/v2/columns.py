"""Columns of JSON in a run file: a list for each field, omitted if all default."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, groupby, repeat
from typing import Any, NamedTuple

from blsnb.printable import counted
from blsnb.trace.files import checked
from blsnb.trace.files.checked import NS, Malformed

Values = list[Any]
_RUNS = "runs"
"""Key of a run-length encoded column."""
_RUN_FROM = 4
"""Minimum mean length of runs for run-length encoding."""
_MIXED = ("parameters", "response_parameters", "origin", "statistics")
"""Columns with values of several types: in Python, 1 equals True."""


class Column(NamedTuple):
    """How a column is read."""

    default: Any
    """JSON value of all rows of an omitted column."""
    read: Callable[[Values], Sequence[Any]]
    """Converts a list of JSON values."""


def written(
    columns: Mapping[str, Values], known: Mapping[str, Column]
) -> dict[str, Any]:
    """Return columns in the form of a file: runs encoded, default columns omitted."""
    return {
        name: values if name in _MIXED else _shortened(values)
        for name, values in columns.items()
        if values and values.count(known[name].default) < len(values)
    }


def _shortened(values: Values) -> Any:
    """Return values run-length encoded if that is shorter."""
    most = len(values) // _RUN_FROM
    runs = []
    for value, equal in groupby(values):
        runs.append([len(list(equal)), value])
        if len(runs) > most:
            return values
    return {_RUNS: runs}


def read_columns(
    value: Any, known: Mapping[str, Column], size: int
) -> dict[str, Iterable[Any]]:
    """Return the values of untrusted columns of ``size`` rows; ignore unknown keys."""
    columns = checked.table(value)
    return {
        name: _read(columns.get(name), column, size) for name, column in known.items()
    }


def _read(values: Any, column: Column, size: int) -> Iterable[Any]:
    if values is None:
        return repeat(column.read([column.default])[0], size)
    if isinstance(values, dict):
        return _read_runs(checked.part(values, _RUNS), column, size)
    return column.read(checked.row(values, size))


def _read_runs(runs: Any, column: Column, size: int) -> Iterable[Any]:
    pairs = checked.listed(runs, lambda pair: checked.row(pair, 2))
    counts = [checked.integer(count, 1, size) for count, _ in pairs]
    if sum(counts) != size:
        raise Malformed(f"runs of {counted(sum(counts), 'value')}, not of {size:,}")
    values = column.read([value for _, value in pairs])
    return chain.from_iterable(map(repeat, values, counts))


def rows_of(
    value: Any, known: Mapping[str, Column], first: str
) -> list[tuple[Any, ...]]:
    """Return columns row by row; the length of the ``first`` column is their number."""
    columns = checked.table(value)
    size = len(checked.array(checked.part(columns, first)))
    read = read_columns(columns, known, size)
    return list(zip(*read.values(), strict=True)) if size else []


def integers(low: int, high: int, default: Any = 0) -> Column:
    """Return a column of integers from ``low`` to ``high``."""

    def read(values: Values) -> Values:
        if not _are_integers(values, low, high):
            for value in values:
                checked.integer(value, low, high)
        return values

    return Column(default, read)


def _are_integers(values: Values, low: int, high: int) -> bool:
    only = set(map(type, values)) == {int}
    return only and low <= min(values) and max(values) <= high


def optional_integers(low: int, high: int) -> Column:
    """Return a column of integers and nulls."""
    numbers = integers(low, high)

    def read(values: Values) -> Values:
        given = [value for value in values if value is not None]
        if given:
            numbers.read(given)
        return values

    return Column(None, read)


def texts(default: str = "") -> Column:
    """Return a column of strings; equal ones share one object."""

    def read(values: Values) -> Values:
        if not set(map(type, values)) <= {str}:
            for value in values:
                checked.text(value)
        same: dict[str, str] = {}
        return [same.setdefault(value, value) for value in values]

    return Column(default, read)


def each(one: Callable[[Any], Any], default: Any = None) -> Column:
    """Return a column whose values are converted one by one."""
    return Column(default, lambda values: [one(value) for value in values])


def lists(one: Callable[[Any], Any]) -> Column:
    """Return a column of lists whose elements are converted one by one."""

    def read(values: Values) -> list[tuple[Any, ...]]:
        return [() if v == [] else checked.listed(v, one) for v in values]

    return Column([], read)


TIME = integers(0, NS)
