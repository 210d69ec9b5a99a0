"""Evaluations as tables of pandas and Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from blsnb.evaluation.result.evaluation import Evaluation


def to_pandas(evaluation: Evaluation) -> Any:
    """Return an evaluation as a pandas DataFrame; see `Evaluation.to_pandas`."""
    __tracebackhide__ = True
    try:
        import pandas
    except ImportError:
        raise ImportError(
            "evaluation.to_pandas() needs pandas: pip install 'blsnb[data]'"
        ) from None
    index = pandas.Index(evaluation.numbers, name="row")
    columns = {
        name: pandas.Series(_objects(values), index, dtype=object).infer_objects()
        if isinstance(values, list)
        else pandas.Series(values, index)
        for name, values in table_columns(evaluation)
    }
    return pandas.DataFrame(columns, index)


def to_arrow(evaluation: Evaluation) -> Any:
    """Return an evaluation as an Arrow table; see `Evaluation.to_arrow`."""
    __tracebackhide__ = True
    try:
        import pyarrow
    except ImportError:
        raise ImportError(
            "evaluation.to_arrow() needs pyarrow: pip install 'blsnb[data]'"
        ) from None
    columns = {"row": pyarrow.array(evaluation.numbers)}
    for name, values in table_columns(evaluation):
        if isinstance(values, list):
            values = [_plain(value) for value in values]
        # NaN stands for a missing value, as in pandas.
        columns[name] = pyarrow.array(values, from_pandas=True)
    return pyarrow.table(columns)


def table_columns(evaluation: Evaluation) -> Iterator[tuple[str, Any]]:
    """Yield names and values of the columns; a name that is taken gets a prefix."""
    taken = {"row"}
    for prefix, name, values in _columns(evaluation):
        unique = name if name not in taken else f"{prefix}.{name}"
        taken.add(unique)
        yield unique, values


def _columns(evaluation: Evaluation) -> Iterator[tuple[str, str, Any]]:
    for name, values in evaluation.rest.items():
        yield "row", name, list(values)
    for name, values in evaluation.outputs.items():
        yield "output", name, list(values)
    numbers = evaluation.numbers.tolist()
    for metric in evaluation.metrics.values():
        yield "metric", metric.name, metric.values
        if metric.errors:
            texts = [metric.errors.get(number) for number in numbers]
            yield "metric", f"{metric.name}_error", texts
    yield "time", "latency_ms", evaluation.latency_us / 1e3
    yield "time", "queue_ms", evaluation.queue_us / 1e3
    for name, model_us in evaluation.model_us.items():
        yield "time", f"{name}_ms", model_us / 1e3
    none = "", ""
    pairs = [evaluation.errors.get(number, none) for number in numbers]
    yield "failure", "error_code", [code or None for code, _ in pairs]
    yield "failure", "error", [text or None for _, text in pairs]


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
