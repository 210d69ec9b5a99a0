"""Stand-ins whose answers are made up: zeros, or numbers by chance."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from blsnb.backends.standin import Answer, Answering
from blsnb.model.config import ModelConfig, TensorSpec
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.tensors.convert import to_ref
from blsnb.tensors.dtypes import BF16, BY_DATATYPE, BYTES, DType, Shape

Array = np.ndarray[Any, Any]
Fill = Callable[[Shape, DType, RequestMessage], Array]
_MOST = 100


def zeros() -> Answering:
    """Return a stand-in whose outputs are zeros, false and empty texts."""
    return Answering("zeros", lambda config: _answer(config, _zeros))


def random(seed: int) -> Answering:
    """Return a stand-in whose outputs are numbers by chance.

    Equal requests get equal answers. Floats are from 0 to 1, integers from 0 to 99,
    texts have eight letters.
    """

    def fill(shape: Shape, dtype: DType, request: RequestMessage) -> Array:
        generator = np.random.default_rng([abs(seed), _checksum(request)])
        return _by_chance(shape, dtype, generator)

    return Answering(f"random {seed}", lambda config: _answer(config, fill))


def _answer(config: ModelConfig, fill: Fill) -> Answer:
    batch_axes = 1 if config.max_batch_size else 0

    def answer(request: RequestMessage) -> Iterator[ResponseMessage]:
        refs = []
        for spec in config.outputs:
            shape = _shape(spec, request, batch_axes)
            dtype = BY_DATATYPE[spec.datatype]
            array = fill(shape, dtype, request)
            refs.append(to_ref(spec.name, array, dtype, len(shape)))
        yield ResponseMessage(tuple(refs))

    return answer


def _shape(spec: TensorSpec, request: RequestMessage, batch_axes: int) -> Shape:
    """Return an output's shape: what varies in it is as in an input of that rank.

    Where there is none it is 1.
    """
    inputs = [ref.shape for ref in request.inputs]
    batch = inputs[0][:batch_axes] if inputs else (1,) * batch_axes
    alike = [shape for shape in inputs if len(shape) == len(spec.dims) + batch_axes]
    sizes = alike[0][batch_axes:] if alike else (1,) * len(spec.dims)
    dims = zip(spec.dims, sizes, strict=True)
    return (*batch, *(size if dim == -1 else dim for dim, size in dims))


def _zeros(shape: Shape, dtype: DType, request: RequestMessage) -> Array:
    if dtype is BYTES:
        return np.full(shape, b"", np.object_)
    return np.zeros(shape, np.float32 if dtype is BF16 else dtype.dtype)


def _by_chance(shape: Shape, dtype: DType, generator: np.random.Generator) -> Array:
    if dtype is BYTES:
        letters = generator.integers(97, 123, (math.prod(shape), 8), np.uint8)
        texts = np.empty(len(letters), np.object_)
        texts[:] = [row.tobytes() for row in letters]
        return texts.reshape(shape)
    if dtype is BF16 or dtype.dtype is None or dtype.dtype.kind == "f":
        return generator.random(shape).astype(dtype.dtype or np.float32)
    most = 2 if dtype.dtype.kind == "b" else _MOST
    return generator.integers(0, most, shape).astype(dtype.dtype)


def _checksum(request: RequestMessage) -> int:
    """Return a number that equal inputs share."""
    checksum = 0
    for ref in sorted(request.inputs, key=lambda ref: ref.name):
        known = f"{ref.name} {ref.dtype.datatype} {ref.shape}"
        checksum = zlib.crc32(ref.data or b"", zlib.crc32(known.encode(), checksum))
    return checksum
