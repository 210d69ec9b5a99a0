"""The functions of ``triton_python_backend_utils`` that need no server."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from blsnb.pb_utils.compiled.compiled_type import CompiledType
from blsnb.pb_utils.request import InferenceRequest
from blsnb.pb_utils.response import InferenceResponse
from blsnb.pb_utils.tensor import Tensor
from blsnb.tensors import byte_strings
from blsnb.tensors.dtypes import BF16, BYTES, DTYPES

_ROWS = tuple(row for row in DTYPES if row is not BF16)

TRITON_STRING_TO_NUMPY: dict[str, type] = {
    row.data_type: bool if row.datatype == "BOOL" else row.dtype.type
    for row in _ROWS
    if row.dtype is not None
}
_NUMPY_BY_CODE: dict[int, type] = {
    row.triton_dtype: row.dtype.type for row in _ROWS if row.dtype is not None
}


def get_input_tensor_by_name(inference_request: Any, name: str) -> Any:
    """Return the request's first input of that name, or None."""
    is_request = isinstance(inference_request, InferenceRequest)
    if is_request and type(type(inference_request)) is CompiledType:
        # Not a model's own subclass, which may override `inputs`.
        return _first_named(inference_request._inputs, name)
    return _first_named(inference_request.inputs(), name)


def get_output_tensor_by_name(inference_response: Any, name: str) -> Any:
    """Return the response's first output of that name, or None."""
    is_response = isinstance(inference_response, InferenceResponse)
    if is_response and type(type(inference_response)) is CompiledType:
        return _first_named(inference_response._tensors, name)
    return _first_named(inference_response.output_tensors(), name)


def get_input_config_by_name(model_config: dict[str, Any], name: str) -> Any:
    """Return the configuration of that input, or None."""
    return _first_config(model_config, "input", name)


def get_output_config_by_name(model_config: dict[str, Any], name: str) -> Any:
    """Return the configuration of that output, or None."""
    return _first_config(model_config, "output", name)


def using_decoupled_model_transaction_policy(model_config: dict[str, Any]) -> Any:
    """Return whether the model is decoupled.

    Raises
    ------
    KeyError
        The configuration has an empty ``model_transaction_policy``.
    """
    if "model_transaction_policy" in model_config:
        return model_config["model_transaction_policy"]["decoupled"]
    return False


def triton_string_to_numpy(triton_type_string: str) -> type:
    """Return the NumPy type of ``"TYPE_FP32"``.

    Raises
    ------
    KeyError
        NumPy does not have the type, or it is unknown.
    """
    return TRITON_STRING_TO_NUMPY[triton_type_string]


def triton_to_numpy_type(data_type: int) -> type | None:
    """Return the NumPy type of a backend's number, or None."""
    for code, numpy_type in _NUMPY_BY_CODE.items():
        if data_type == code:
            return numpy_type
    return None


def numpy_to_triton_type(data_type: Any) -> int | None:
    """Return the backend's number of a NumPy type or dtype, or None."""
    for code, numpy_type in _NUMPY_BY_CODE.items():
        if data_type == numpy_type:
            return code
    return BYTES.triton_dtype if data_type == np.bytes_ else None


def serialize_byte_tensor(input_tensor: Any) -> bytes | tuple[()] | None:
    """Return the wire form of an object or byte-string array, None for others.

    The result for an empty array is an empty tuple, as on Triton.
    """
    if input_tensor.size == 0:
        return ()
    if input_tensor.dtype == np.object_ or input_tensor.dtype.type is np.bytes_:
        return byte_strings.pack_array(input_tensor)
    return None


def deserialize_bytes_tensor(encoded_tensor: Any) -> np.ndarray[Any, Any]:
    """Return the elements of the wire form, as a flat object array of ``bytes``.

    Raises
    ------
    struct.error
        A length or an element is truncated.
    """
    # As Triton does it: any buffer is accepted, and the error's text is `struct`'s.
    elements: list[bytes] = []
    offset = 0
    while offset < len(encoded_tensor):
        (length,) = struct.unpack_from("<I", encoded_tensor, offset)
        offset += 4
        elements += struct.unpack_from(f"<{length}s", encoded_tensor, offset)
        offset += length
    return byte_strings.object_array(elements)


def _first_named(tensors: Any, name: str) -> Any:
    for tensor in tensors:
        if name == (tensor._name if type(tensor) is Tensor else tensor.name()):
            return tensor
    return None


def _first_config(model_config: dict[str, Any], direction: str, name: str) -> Any:
    if direction not in model_config:
        return None
    rows = model_config[direction]
    return next((row for row in rows if row["name"] == name), None)
