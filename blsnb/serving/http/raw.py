"""HttpRaw: a body that is the only input of a model, without a word about it."""

from __future__ import annotations

import math

from blsnb.engine.request.validation import RequestError
from blsnb.engine.served import Served
from blsnb.serving.core.wire import WireInput
from blsnb.tensors.dtypes import BY_DATATYPE, Shape

_REQUEST = "[request id: <id_unknown>] "
_LENGTH = 4


def raw_input(served: Served, body: bytes) -> WireInput:
    """Return the input that a body is; its shape is deduced from the configuration.

    Raises
    ------
    RequestError
        That cannot be; the text is Triton's.

    References
    ----------
    core: src/infer_request.cc, InferenceRequest::Normalize
    """
    config = served.config
    if len(config.inputs) != 1:
        raise RequestError(
            f"{_REQUEST}Raw request must only have 1 input (found 1) to be deduced but "
            f"got {len(config.inputs)} inputs in '{config.name}' model configuration"
        )
    (spec,) = config.inputs
    batch = (1,) if config.max_batch_size > 0 else ()
    if spec.datatype == "BYTES":
        if tuple(spec.dims) != (1,):
            raise RequestError(
                f"{_REQUEST}For BYTE datatype raw input '{spec.name}', the model must "
                "have input shape [1]"
            )
        data = len(body).to_bytes(_LENGTH, "little") + body
        return WireInput(spec.name, spec.datatype, (*batch, 1), data)
    size = BY_DATATYPE[spec.datatype].byte_size
    shape = _deduced(spec.name, tuple(spec.dims), size, len(body))
    expected = math.prod(shape) * size
    if len(body) != expected:
        # Triton says here what the client could not name.
        raise RequestError(
            f"{_REQUEST}input byte size mismatch for input 'raw_input' for model "
            f"'{config.name}'. Expected {expected}, got {len(body)}"
        )
    return WireInput(spec.name, spec.datatype, (*batch, *shape), body)


def _deduced(name: str, dims: Shape, size: int, found: int) -> Shape:
    """Return dims with the one that varies as long as it must be."""
    if dims.count(-1) > 1:
        raise RequestError(
            f"{_REQUEST}The shape of the raw input '{name}' can not be deduced because "
            "there are more than one variable-sized dimension"
        )
    row = size * math.prod(length for length in dims if length != -1)
    return tuple(found // row if length == -1 else length for length in dims)
