"""Rows as inputs of requests, alone or stacked, and outputs as of rows."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from blsnb.evaluation.plain import Row
from blsnb.model.config import ModelConfig

Arrays = dict[str, Any]


class RowRequest(NamedTuple):
    """The inputs of one request.

    Parameters
    ----------
    rows
        The rows; several if they are stacked.
    inputs
        The inputs, with the batch axis of the model.
    sizes
        Number of items of each row along the batch axis.
    added_axis
        Whether the rows lack the batch axis, so that their outputs lack it, too.
    """

    rows: tuple[Row, ...]
    inputs: Mapping[str, Any]
    sizes: tuple[int, ...] = (1,)
    added_axis: bool = False

    def row_outputs(self, outputs: Arrays) -> list[Arrays]:
        """Return the outputs of each row.

        Raises
        ------
        ValueError
            The rows are stacked, and an output has another batch size.
        """
        if len(self.rows) == 1:
            each = [outputs]
        else:
            parts = [self._parts(name, value) for name, value in outputs.items()]
            each = [
                dict(zip(outputs, values, strict=True))
                for values in zip(*parts, strict=True)
            ] or [{} for _ in self.rows]
        return [_items(row) for row in each] if self.added_axis else each

    def _parts(self, name: str, array: Any) -> list[Any]:
        if not array.ndim or len(array) != sum(self.sizes):
            raise ValueError(
                f"output {name!r} has shape {list(array.shape)} for a batch of "
                f"{sum(self.sizes)}: it cannot be divided among the rows"
            )
        ends = np.cumsum(self.sizes[:-1])
        # Copies: a part of one row would keep the whole batch alive.
        return [part.copy() for part in np.split(array, ends)]


class RowShapes:
    """Adds the batch axis to rows that lack it, and stacks rows of equal shapes.

    Parameters
    ----------
    config
        The model's configuration.
    batch
        Maximum number of rows of one request; 1 to stack none.
    """

    def __init__(self, config: ModelConfig | None, batch: int = 1) -> None:
        batches = config is not None and config.max_batch_size > 0
        self._most = config.max_batch_size if config is not None else 0
        self._batch = batch
        self._ranks = (
            {spec.name: len(spec.dims) for spec in config.inputs}
            if config is not None and batches
            else {}
        )

    def requests(self, rows: Iterable[Row]) -> Iterator[RowRequest]:
        """Yield the requests of rows, in order; rows of sequences stay alone."""
        stack: list[RowRequest] = []
        kind: Any = None
        for row in rows:
            request = self.request(row)
            found = self._kind(request)
            full = len(stack) == self._batch
            if found is not None:
                full |= sum(map(_length, [*stack, request])) > self._most
            if stack and (found != kind or full):
                yield stacked(stack)
                stack = []
            if found is None:
                yield request
                continue
            kind = found
            stack.append(request)
        if stack:
            yield stacked(stack)

    def request(self, row: Row) -> RowRequest:
        """Return the request of one row."""
        inputs = row.inputs
        ranks = self._ranks
        if not ranks:
            return RowRequest((row,), inputs)
        added = [
            name
            for name, value in inputs.items()
            if _rank(value) == ranks.get(name, -1)
        ]
        if added:
            inputs = {
                name: _with_axis(value) if name in added else value
                for name, value in inputs.items()
            }
        return RowRequest((row,), inputs, added_axis=bool(added))

    def _kind(self, request: RowRequest) -> Any:
        """Return what rows of one stack have in common; None for a row alone."""
        if self._batch == 1 or request.rows[0].sequence is not None:
            return None
        found = {name: _shape(value) for name, value in request.inputs.items()}
        if not all(found.values()) or len({each[1] for each in found.values()}) != 1:
            return None
        shapes = {name: (kind, *shape) for name, (kind, _, *shape) in found.items()}
        return request.added_axis, shapes


def stacked(requests: Sequence[RowRequest]) -> RowRequest:
    """Return one request for several of equal shapes."""
    if len(requests) == 1:
        return requests[0]
    first = requests[0]
    inputs = {
        name: _joined([each.inputs[name] for each in requests]) for name in first.inputs
    }
    return RowRequest(
        tuple(each.rows[0] for each in requests),
        inputs,
        tuple(map(_length, requests)),
        first.added_axis,
    )


def _joined(values: list[Any]) -> Any:
    is_array = isinstance(values[0], np.ndarray)
    return np.concatenate(values) if is_array else list(itertools.chain(*values))


def _shape(value: Any) -> tuple[Any, ...]:
    """Return the type of a value and its axes; empty for what is not stacked."""
    with contextlib.suppress(ValueError):
        if isinstance(value, np.ndarray) and value.ndim:
            return value.dtype, *value.shape
        # A list takes the configured datatype, which an array has.
        if isinstance(value, list):
            return list, *np.shape(value)
    return ()


def _rank(value: Any) -> int | None:
    """Return the number of axes; None for a scalar, and for a ragged list."""
    if not isinstance(value, np.ndarray | list | tuple | range):
        return None
    with contextlib.suppress(ValueError):
        return np.ndim(value)
    return None


def _with_axis(value: Any) -> Any:
    # A list takes the configured datatype when it becomes a tensor.
    return value[None] if isinstance(value, np.ndarray) else [value]


def _length(request: RowRequest) -> int:
    return len(next(iter(request.inputs.values())))


def _items(outputs: Arrays) -> Arrays:
    return {name: _item(value) for name, value in outputs.items()}


def _item(value: Any) -> Any:
    if isinstance(value, list):
        return [_item(each) for each in value]
    has_axis = isinstance(value, np.ndarray) and value.ndim and len(value) == 1
    return value[0] if has_axis else value
