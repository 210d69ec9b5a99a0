"""Results of rows as JSON and bytes, and back; reading them executes nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blsnb.evaluation.plain import RowResult
from blsnb.tensors import byte_strings
from blsnb.tensors.dtypes import BY_DATATYPE, BYTES, of_array
from blsnb.trace.files import checked
from blsnb.trace.files.checked import NS, Malformed

Bytes = bytes | memoryview
_MAX_DIMS = 32


@dataclass(slots=True)
class PackedResults:
    """Results as the JSON and the body of a chunk."""

    rows: list[Any] = field(default_factory=list)
    body: list[Bytes] = field(default_factory=list)

    def add(self, result: RowResult, digest: str) -> None:
        """Add a result, with the digest of its row's inputs; without its run."""
        outputs = [[name, self._value(each)] for name, each in result.outputs.items()]
        self.rows.append(
            [
                result.number,
                digest,
                result.error,
                result.code,
                result.latency_us,
                result.queue_us,
                result.model_us,
                result.model_calls,
                outputs,
            ]
        )

    def _value(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._value(each) for each in value]
        array = np.asarray(value, dtype=object if isinstance(value, bytes) else None)
        dtype = of_array(array.dtype)
        if dtype is None:
            raise TypeError(f"no output of a model has the type {array.dtype}")
        if dtype is BYTES:
            data = byte_strings.pack_array(array)
        else:
            data = np.ascontiguousarray(array).tobytes()
        self.body.append(data)
        facts = {"datatype": dtype.datatype, "shape": list(array.shape)}
        return {**facts, "size": len(data)}


def row_numbers(value: Any) -> list[tuple[int, str]]:
    """Return the numbers of the rows of a chunk, with the digests of their inputs.

    Raises
    ------
    Malformed
        The JSON is not that of `PackedResults`.
    """
    rows = checked.listed(value, lambda each: checked.row(each, 9))
    return [(checked.integer(row[0], 0, NS), checked.text(row[1])) for row in rows]


def unpacked(value: Any, body: bytes) -> list[RowResult]:
    """Return the results of a chunk.

    Raises
    ------
    Malformed
        The JSON is not that of `PackedResults`, or does not fit the body.
    """
    reader = _Reader(memoryview(body))
    rows = checked.listed(value, lambda each: checked.row(each, 9))
    return [_result(row, reader) for row in rows]


def _result(row: Sequence[Any], reader: _Reader) -> RowResult:
    outputs = checked.listed(row[8], lambda each: checked.row(each, 2))
    return RowResult(
        checked.integer(row[0], 0, NS),
        {checked.text(name): reader.value(each) for name, each in outputs},
        checked.text(row[2]),
        checked.text(row[3]),
        _number(row[4]),
        _number(row[5]),
        {name: _number(each) for name, each in checked.table(row[6]).items()},
        {
            name: checked.integer(each, 0, NS)
            for name, each in checked.table(row[7]).items()
        },
    )


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Malformed
    return float(value)


class _Reader:
    """Reads the values of a body, one after the other."""

    def __init__(self, body: memoryview) -> None:
        self._body = body
        self._offset = 0

    def value(self, facts: Any) -> Any:
        if isinstance(facts, list):
            return [self.value(each) for each in facts]
        table = checked.table(facts)
        dtype = BY_DATATYPE.get(checked.text(checked.part(table, "datatype")))
        if dtype is None or dtype.dtype is None:
            raise Malformed
        dims = checked.part(table, "shape")
        shape = checked.listed(dims, lambda each: checked.integer(each, 0, NS))
        size = checked.integer(checked.part(table, "size"), 0, NS)
        data = self._body[self._offset : self._offset + size]
        self._offset += size
        if len(data) != size or len(shape) > _MAX_DIMS:
            raise Malformed
        if dtype is BYTES:
            return _strings(bytes(data), shape)
        if size != math.prod(shape) * dtype.byte_size:
            raise Malformed
        return np.frombuffer(data, dtype.dtype).reshape(shape).copy()[()]


def _strings(data: bytes, shape: tuple[int, ...]) -> Any:
    try:
        byte_strings.check(data, math.prod(shape))
    except ValueError as error:
        raise Malformed(str(error)) from None
    return byte_strings.unpack_array(data, shape)[()]
