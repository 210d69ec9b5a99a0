"""Rows of pandas and polars DataFrames, converted in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from blsnb.evaluation.rows.arrow import stacked, values
from blsnb.evaluation.rows.records import (
    BLOCK_ROWS,
    Records,
    by_rows,
    check_column_names,
)


def pandas_records(frame: Any) -> Records:
    """Return the rows of a pandas DataFrame; its index is not part of them.

    Missing values are None; NaN in a column of NumPy floats is a value.

    Raises
    ------
    ValueError
        Two columns have the same name.
    """
    names = [str(name) for name in frame.columns]
    check_column_names(names, "the DataFrame")

    def read() -> Iterator[dict[str, Any]]:
        for start in range(0, len(frame), BLOCK_ROWS):
            block = frame.iloc[start : start + BLOCK_ROWS]
            columns = [_pandas_values(block.iloc[:, n]) for n in range(len(names))]
            yield from by_rows(dict(zip(names, columns, strict=True)))

    return Records(read, len(frame))


def _pandas_values(series: Any) -> list[Any]:
    if hasattr(getattr(series.dtype, "pyarrow_dtype", None), "value_type"):
        return values(series.array.__arrow_array__())
    found: list[Any] = series.tolist()
    if str(series.dtype).startswith("float"):
        return found
    missing = series.isna().tolist()
    return [None if no else value for value, no in zip(found, missing, strict=True)]


def polars_records(frame: Any) -> Records:
    """Return the rows of a polars DataFrame; nested columns become arrays."""

    def read() -> Iterator[dict[str, Any]]:
        for block in frame.iter_slices(BLOCK_ROWS):
            yield from by_rows({each.name: _polars_values(each) for each in block})

    return Records(read, len(frame))


def _polars_values(series: Any) -> list[Any]:
    if not hasattr(series.dtype, "inner"):
        found: list[Any] = series.to_list()
        return found
    is_array = type(series.dtype).__name__ == "Array"
    # For a missing element NumPy would have NaN, and floats in all rows.
    if is_array and not series.reshape((-1,)).null_count():
        return list(series.to_numpy())
    return [None if each is None else _array(each) for each in series]


def _array(series: Any) -> Any:
    """Return an element of a nested column: an array if its elements are numbers."""
    if hasattr(series.dtype, "inner"):
        return stacked(_polars_values(series))
    numeric = series.dtype.is_numeric() and not series.null_count()
    return series.to_numpy() if numeric else series.to_list()
