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
        name: _series(pandas, values, index)
        if isinstance(values, list)
        else pandas.Series(values, index)
        for name, values in named(columns).items()
    }
    return pandas.DataFrame(shown, index)


def _series(pandas: Any, values: Sequence[Any], index: Any) -> Any:
    column = pandas.Series(_objects(values), index, dtype=object)
    inferred = column.infer_objects()
    if inferred.dtype != float or pandas.api.types.infer_dtype(column) != "integer":
        return inferred
    # A value is missing, and as floats large whole numbers would lose digits.
    is_large = column.max() > np.iinfo(np.int64).max
    return column.astype("UInt64" if is_large else "Int64")


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
        # NaN stands for a missing value, as in pandas, but not in a model's output.
        is_nan_null = True
        if isinstance(values, list):
            is_nan_null = not any(isinstance(v, np.ndarray | list) for v in values)
            is_flat = not _are_single(values)
            values = [_plain(value, is_flat) for value in values]
        shown[name] = _arrow_array(pyarrow, values, is_nan_null)
    return pyarrow.table(shown)


def _arrow_array(pyarrow: Any, values: Any, is_nan_null: bool) -> Any:
    try:
        return pyarrow.array(values, from_pandas=is_nan_null)
    except (ValueError, TypeError, OverflowError):
        # Labels without a common type, or too large for one.
        texts = [None if value is None else str(value) for value in values]
        return pyarrow.array(texts, pyarrow.string())


def named(columns: Iterable[Column]) -> Mapping[str, Any]:
    """Return columns by name; a name that is taken gets its kind as prefix."""
    found: dict[str, Any] = {}
    for kind, name, values in columns:
        name = _encodable(name)
        is_taken = name in found or name == "row"
        if isinstance(values, list):
            values = [*map(_encodable, values)]
        found[f"{kind}.{name}" if is_taken else name] = values
    return found


def _encodable(value: Any) -> Any:
    """Return a text without surrogates, as tables need it; anything else as it is."""
    if not isinstance(value, str):
        return value
    return value.encode(errors="backslashreplace").decode()


def _objects(values: Sequence[Any]) -> Any:
    """Return a column of objects; pandas would take equal arrays for a matrix."""
    column = np.empty(len(values), object)
    are_single = _are_single(values)
    for at, value in enumerate(values):
        single = are_single and isinstance(value, np.ndarray)
        column[at] = value.flat[0] if single else value
    return column


def _are_single(values: Iterable[Any]) -> bool:
    """Whether each array, also each of a stream, has one element."""
    return all(
        value.size == 1 if isinstance(value, np.ndarray) else _are_single(value)
        for value in values
        if isinstance(value, np.ndarray | list)
    )


def _plain(value: Any, is_flat: bool) -> Any:
    """Return a value as Arrow takes it: a single element, or a flat array."""
    if isinstance(value, np.ndarray):
        return value.ravel() if is_flat else value.flat[0]
    if isinstance(value, list):
        return [_plain(each, is_flat) for each in value]
    return value
