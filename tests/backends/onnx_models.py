"""Tiny ONNX models, written field by field: no package is needed to make them."""

from __future__ import annotations

import struct
from collections.abc import Sequence

FLOAT, UINT8, INT8, UINT16, INT16, INT32, INT64, STRING, BOOL, FLOAT16, DOUBLE = (
    *range(1, 12),
)
UINT32, UINT64, BFLOAT16 = 12, 13, 16
Dims = Sequence[int | str]


def _varint(number: int) -> bytes:
    head, rest = number & 127, number >> 7
    return bytes([head | 128]) + _varint(rest) if rest else bytes([head])


def _field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def tensor(name: str, element: int, dims: Dims) -> bytes:
    """Return a description of an input or output; a word is a dimension that varies."""
    shape = b"".join(
        _field(1, _field(2 if isinstance(dim, str) else 1, dim)) for dim in dims
    )
    kind = _field(1, element) + _field(2, shape)
    return _field(1, name) + _field(2, _field(1, kind))


def sequence(name: str) -> bytes:
    """Return a description of an input or output that is no tensor."""
    inner = _field(1, _field(1, FLOAT) + _field(2, b""))
    return _field(1, name) + _field(2, _field(4, _field(1, inner)))


def node(operator: str, inputs: Sequence[str], outputs: Sequence[str]) -> bytes:
    """Return a node without attributes."""
    return (
        b"".join(_field(1, name) for name in inputs)
        + b"".join(_field(2, name) for name in outputs)
        + _field(4, operator)
    )


def initializer(name: str, values: Sequence[float]) -> bytes:
    """Return a vector of floats that the model has."""
    data = b"".join(_varint(4 << 3 | 5) + struct.pack("<f", v) for v in values)
    return _field(1, len(values)) + _field(2, FLOAT) + data + _field(8, name)


def model(
    nodes: Sequence[bytes],
    inputs: Sequence[bytes],
    outputs: Sequence[bytes],
    initializers: Sequence[bytes] = (),
) -> bytes:
    """Return the bytes of a ``model.onnx``."""
    graph = (
        b"".join(_field(1, each) for each in nodes)
        + _field(2, "graph")
        + b"".join(_field(5, each) for each in initializers)
        + b"".join(_field(11, each) for each in inputs)
        + b"".join(_field(12, each) for each in outputs)
    )
    return _field(1, 8) + _field(7, graph) + _field(8, _field(2, 13))


def identity(element: int = FLOAT, dims: Dims = ("batch", 2)) -> bytes:
    """Return a model whose output Y is its input X."""
    inputs, outputs = tensor("X", element, dims), tensor("Y", element, dims)
    return model([node("Identity", ["X"], ["Y"])], [inputs], [outputs])


def add_sub(dims: Dims = ("batch", 2)) -> bytes:
    """Return a model with the sum and the difference of A and B."""
    names = ("A", "B"), ("SUM", "DIFFERENCE")
    inputs, outputs = ([tensor(n, FLOAT, dims) for n in some] for some in names)
    nodes = [
        node("Add", *(["A", "B"], ["SUM"])),
        node("Sub", ["A", "B"], ["DIFFERENCE"]),
    ]
    return model(nodes, inputs, outputs)
