"""Columns of any kind as tables of pandas and Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

Column = tuple[str, str, Any]
"""Kind, name and values: an array of numbers, or a list of anything."""


def to_pandas(numbers: Any, columns: Iterable[Column]) -> Any:
    """Return columns as a pandas DataFrame; see `Evaluation.to_pandas`."""
    __tracebackhide__ = True
    try:
        import pandas
    except ImportError:
        raise ImportError(
            "evaluation.to_pandas() needs pandas: pip install 'blsnb[data]'"
        ) from None
    index = pandas.Index(numbers, name="row")
    shown = {
        name: pandas.Series(_objects(values), index, dtype=object).infer_objects()
        if isinstance(values, list)
        else pandas.Series(values, index)
        for name, values in named(columns).items()
    }
    return pandas.DataFrame(shown, index)


def to_arrow(numbers: Any, columns: Iterable[Column]) -> Any:
    """Return columns as an Arrow table; see `Evaluation.to_arrow`."""
    __tracebackhide__ = True
    try:
        import pyarrow
    except ImportError:
        raise ImportError(
            "evaluation.to_arrow() needs pyarrow: pip install 'blsnb[data]'"
        ) from None
    shown = {"row": pyarrow.array(numbers)}
    for name, values in named(columns).items():
        if isinstance(values, list):
            values = [_plain(value) for value in values]
        # NaN stands for a missing value, as in pandas.
        shown[name] = pyarrow.array(values, from_pandas=True)
    return pyarrow.table(shown)


def named(columns: Iterable[Column]) -> Mapping[str, Any]:
    """Return columns by name; a name that is taken gets its kind as prefix."""
    found: dict[str, Any] = {}
    for kind, name, values in columns:
        is_taken = name in found or name == "row"
        found[f"{kind}.{name}" if is_taken else name] = values
    return found


def _objects(values: Sequence[Any]) -> Any:
    """Return a column of objects; pandas would take equal arrays for a matrix."""
    column = np.empty(len(values), object)
    for at, value in enumerate(values):
        single = isinstance(value, np.ndarray) and value.size == 1
        column[at] = value.reshape(-1)[0] if single else value
    return column


def _plain(value: Any) -> Any:
    """Return a value as Arrow takes it: a single element, or a flat list."""
    if isinstance(value, np.ndarray):
        flat = value.reshape(-1)
        return flat[0] if flat.size == 1 and value.ndim <= 2 else flat.tolist()
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value
