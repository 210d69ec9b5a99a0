"""Inputs and outputs in an ONNX model's file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from blsnb.errors import BackendError
from blsnb.tensors.dtypes import Shape

_TENSOR = re.compile(r"tensor\((?P<type>\w+)\)")
_KINDS = {
    "seq": "ONNX_TYPE_SEQUENCE",
    "map": "ONNX_TYPE_MAP",
    "sparse_tensor": "ONNX_TYPE_SPARSETENSOR",
}
# By ONNX Runtime's name of a type: Triton's data type, and its name of ONNX's type.
_TYPES = {
    "float": ("TYPE_FP32", "FLOAT"),
    "uint8": ("TYPE_UINT8", "UINT8"),
    "int8": ("TYPE_INT8", "INT8"),
    "uint16": ("TYPE_UINT16", "UINT16"),
    "int16": ("TYPE_INT16", "INT16"),
    "int32": ("TYPE_INT32", "INT32"),
    "int64": ("TYPE_INT64", "INT64"),
    "string": ("TYPE_STRING", "STRING"),
    "bool": ("TYPE_BOOL", "BOOL"),
    "float16": ("TYPE_FP16", "FLOAT16"),
    "double": ("TYPE_FP64", "DOUBLE"),
    "uint32": ("TYPE_UINT32", "UINT32"),
    "uint64": ("TYPE_UINT64", "UINT64"),
    # Triton's backend has one name for both.
    "complex64": ("TYPE_INVALID", "COMPLEX64"),
    "complex128": ("TYPE_INVALID", "COMPLEX64"),
    "bfloat16": ("TYPE_INVALID", "BFLOAT16"),
}
CONFIGURABLE = frozenset(
    data_type for data_type, _ in _TYPES.values() if data_type != "TYPE_INVALID"
)
"""The data types that the backend accepts in a configuration."""


class TensorInfo(NamedTuple):
    """One input or output of a model.

    Parameters
    ----------
    data_type
        Type in a configuration; ``"TYPE_INVALID"`` if Triton has no such type.
    onnx_type
        Triton's name of the ONNX type, such as ``"FLOAT"``.
    dims
        Shape with the batch; -1 is any size; empty for a scalar.
    """

    data_type: str
    onnx_type: str
    dims: Shape

    @property
    def triton_type(self) -> str:
        """The data type in Triton's error texts, which use the datatype of requests."""
        renamed = {"TYPE_STRING": "TYPE_BYTES", "TYPE_INVALID": "TYPE_<invalid>"}
        return renamed.get(self.data_type, self.data_type)


Tensors = dict[str, TensorInfo]


def tensors_of(arguments: Iterable[Any]) -> Tensors:
    """Return the inputs or outputs of a session, by name.

    References
    ----------
    onnxruntime_backend: src/onnxruntime_utils.cc, InputOutputInitializerInfos
    """
    return {argument.name: _info(argument) for argument in arguments}


def _info(argument: Any) -> TensorInfo:
    match = _TENSOR.fullmatch(argument.type)
    if match is None:
        kind = _KINDS.get(argument.type.partition("(")[0], "ONNX_TYPE_UNKNOWN")
        raise BackendError(
            f"Unsupported ONNX Type '{kind}' for I/O '{argument.name}', expected "
            "'ONNX_TYPE_TENSOR'.",
            "UNSUPPORTED",
        )
    data_type, onnx_type = _TYPES.get(match["type"], ("TYPE_INVALID", "UNDEFINED"))
    # A variable dimension is a name or None.
    dims = tuple(dim if isinstance(dim, int) else -1 for dim in argument.shape)
    return TensorInfo(data_type, onnx_type, dims)
