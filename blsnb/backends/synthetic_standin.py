"""Stand-ins with synthetic responses: zeros or random numbers."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from blsnb.backends.standin import FunctionStandIn, Respond
from blsnb.model.config import ModelConfig, TensorSpec
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.tensors.convert import to_ref
from blsnb.tensors.dtypes import BF16, BY_DATATYPE, BYTES, DType, Shape

Array = np.ndarray[Any, Any]
Fill = Callable[[Shape, DType, RequestMessage], Array]
_MAX_INTEGER = 100


def zeros() -> FunctionStandIn:
    """Return a stand-in whose outputs are zeros, false and empty strings."""
    return FunctionStandIn(
        "zeros", lambda config: _respond(config, _zeros), {"zeros": True}
    )


def random(seed: int) -> FunctionStandIn:
    """Return a stand-in whose outputs are random.

    Equal requests receive equal responses. Floats are from 0 to 1, integers from 0 to
    99, strings have eight letters.
    """

    def fill(shape: Shape, dtype: DType, request: RequestMessage) -> Array:
        generator = np.random.default_rng([abs(seed), _checksum(request)])
        return _random(shape, dtype, generator)

    return FunctionStandIn(
        f"random {seed}", lambda config: _respond(config, fill), {"random": seed}
    )


def _respond(config: ModelConfig, fill: Fill) -> Respond:
    batch_axes = 1 if config.max_batch_size else 0

    def respond(request: RequestMessage) -> Iterator[ResponseMessage]:
        refs = []
        for spec in config.outputs:
            shape = _shape(spec, request, batch_axes)
            dtype = BY_DATATYPE[spec.datatype]
            array = fill(shape, dtype, request)
            refs.append(to_ref(spec.name, array, dtype, len(shape)))
        yield ResponseMessage(tuple(refs))

    return respond


def _shape(spec: TensorSpec, request: RequestMessage, batch_axes: int) -> Shape:
    """Return an output's shape.

    Variable dimensions are those of the first input with the same rank, else 1.
    """
    inputs = [ref.shape for ref in request.inputs]
    batch = inputs[0][:batch_axes] if inputs else (1,) * batch_axes
    same_rank = [shape for shape in inputs if len(shape) == len(spec.dims) + batch_axes]
    sizes = same_rank[0][batch_axes:] if same_rank else (1,) * len(spec.dims)
    dims = zip(spec.dims, sizes, strict=True)
    return (*batch, *(size if dim == -1 else dim for dim, size in dims))


def _zeros(shape: Shape, dtype: DType, request: RequestMessage) -> Array:
    if dtype is BYTES:
        return np.full(shape, b"", np.object_)
    return np.zeros(shape, np.float32 if dtype is BF16 else dtype.dtype)


def _random(shape: Shape, dtype: DType, generator: np.random.Generator) -> Array:
    if dtype is BYTES:
        letters = generator.integers(97, 123, (math.prod(shape), 8), np.uint8)
        strings = np.empty(len(letters), np.object_)
        strings[:] = [row.tobytes() for row in letters]
        return strings.reshape(shape)
    if dtype is BF16 or dtype.dtype is None or dtype.dtype.kind == "f":
        return generator.random(shape).astype(dtype.dtype or np.float32)
    limit = 2 if dtype.dtype.kind == "b" else _MAX_INTEGER
    return generator.integers(0, limit, shape).astype(dtype.dtype)


def _checksum(request: RequestMessage) -> int:
    """Return a checksum of all inputs."""
    checksum = 0
    for ref in sorted(request.inputs, key=lambda ref: ref.name):
        header = f"{ref.name} {ref.dtype.datatype} {ref.shape}"
        checksum = zlib.crc32(ref.data or b"", zlib.crc32(header.encode(), checksum))
    return checksum
