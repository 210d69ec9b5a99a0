"""Contents: the elements of an input that are written out in a gRPC request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from blsnb.engine.request.validation import RequestError
from blsnb.tensors import byte_strings
from blsnb.tensors.dtypes import BY_DATATYPE

_NONE = "<invalid>"
_KINDS: dict[str, tuple[str, ...]] = {
    "bool_contents": ("BOOL",),
    "int_contents": ("INT32", "INT8", "INT16"),
    "int64_contents": ("INT64",),
    "uint_contents": ("UINT32", "UINT8", "UINT16"),
    "uint64_contents": ("UINT64",),
    "fp32_contents": ("FP32",),
    "fp64_contents": ("FP64",),
    "bytes_contents": ("BYTES",),
}
"""Which datatypes have their elements in which field; the first is its own."""


def contents_bytes(tensor: Any, model_name: str) -> bytes:
    """Return the elements of an input in the form of raw contents.

    Raises
    ------
    RequestError
        They are in the field of another datatype; the text is Triton's.

    References
    ----------
    server: src/grpc/infer_handler.cc, InferGRPCToInput
    """
    datatype = tensor.datatype if tensor.datatype in BY_DATATYPE else _NONE
    data = b""
    for kind, datatypes in _KINDS.items():
        elements = getattr(tensor.contents, kind)
        if not elements:
            continue
        if datatype not in datatypes:
            raise RequestError(
                f"unexpected explicit tensor data for input tensor '{tensor.name}' for "
                f"model '{model_name}' of type '{datatypes[0]}', expected datatype "
                f"'{datatype}'"
            )
        data = _packed(elements, datatype, datatypes[0])
    return data


def _packed(elements: Any, datatype: str, own: str) -> bytes:
    if datatype == "BYTES":
        return byte_strings.pack(elements)
    # Of a number that is too large the lowest bytes are kept, as in Triton.
    wide, narrow = BY_DATATYPE[own].dtype, BY_DATATYPE[datatype].dtype
    convert: Callable[..., bytes] = np.array(elements, wide).astype(narrow).tobytes
    return convert()
