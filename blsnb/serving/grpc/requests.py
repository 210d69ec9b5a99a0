"""Inference requests of gRPC messages."""

from __future__ import annotations

from typing import Any

import numpy as np

from blsnb.engine.refusals import parse_version, read_version
from blsnb.engine.request.validation import RequestError
from blsnb.request_fields import Parameters
from blsnb.serving.core.parameters import repeated_input, until_nul
from blsnb.serving.core.shared_memory import SharedMemory
from blsnb.serving.core.wire import CLASS_COUNTS, WireInput, WireOutput, WireRequest
from blsnb.serving.grpc.parameters import parameters_of
from blsnb.tensors import byte_strings
from blsnb.tensors.dtypes import BY_DATATYPE

_CLASSES = "classification"
_REGION = "shared_memory_region"
_OFFSET = "shared_memory_offset"
_SIZE = "shared_memory_byte_size"
_SIZES = 2**64
_INVALID = "<invalid>"
_CONTENTS: dict[str, tuple[str, ...]] = {
    "bool_contents": ("BOOL",),
    "int_contents": ("INT32", "INT8", "INT16"),
    "int64_contents": ("INT64",),
    "uint_contents": ("UINT32", "UINT8", "UINT16"),
    "uint64_contents": ("UINT64",),
    "fp32_contents": ("FP32",),
    "fp64_contents": ("FP64",),
    "bytes_contents": ("BYTES",),
}
"""Datatypes whose elements each field holds; the first is the field's own."""


def version_of(text: str) -> int:
    """Return the requested version; -1 without one: the server chooses."""
    if text and read_version(text) < 0:
        raise RequestError(
            f"invalid model version specified '{text}' , version should be an "
            "integral value > 0"
        )
    return parse_version(text)


def request_of(
    message: Any,
    version: int,
    memory: SharedMemory,
    headers: Parameters | None = None,
) -> tuple[WireRequest, bool]:
    """Return the request of a message, with its elements in binary form.

    Parameters
    ----------
    headers
        Metadata of the call that the model receives as parameters.

    Returns
    -------
    tuple of WireRequest and bool
        Whether a final response without outputs is sent.

    References
    ----------
    server: src/grpc/infer_handler.cc, ModelInferHandler::Execute
    """
    parameters = parameters_of(message.parameters)
    parameters.custom.update(headers or {})
    _refuse_repeated(message)
    request = WireRequest(
        until_nul(message.model_name),
        parameters.fields(version, until_nul(message.id)),
        _inputs(message, memory),
        tuple(_output(each, memory) for each in message.outputs),
    )
    return request, parameters.protocol_option


def _refuse_repeated(message: Any) -> None:
    """Refuse a repeated input before any elements are read."""
    seen: set[str] = set()
    for tensor in message.inputs:
        if tensor.name in seen:
            raise repeated_input(message.id, tensor.name)
        seen.add(tensor.name)


def _inputs(message: Any, memory: SharedMemory) -> tuple[WireInput, ...]:
    raw = iter(message.raw_input_contents)
    has_raw = bool(message.raw_input_contents)
    return tuple(
        WireInput(
            until_nul(tensor.name),
            until_nul(tensor.datatype),
            tuple(tensor.shape),
            _elements(tensor, raw, has_raw, memory, message.model_name),
        )
        for tensor in message.inputs
    )


def _elements(
    tensor: Any, raw: Any, has_raw: bool, memory: SharedMemory, model_name: str
) -> bytes | memoryview:
    region = _region_of(tensor) if tensor.parameters else None
    has_contents = tensor.HasField("contents")
    if region is not None:
        if has_contents:
            raise RequestError(
                "unexpected 'content' provided when using shared memory for input "
                f"tensor '{tensor.name}' for model '{model_name}'"
            )
        return memory.window(*region).read()
    if has_contents and has_raw:
        raise RequestError(
            "contents field must not be specified when using raw_input_contents for "
            f"'{tensor.name}' for model '{model_name}'"
        )
    if has_contents:
        return _contents(tensor, model_name)
    found: bytes | None = next(raw, None)
    if found is None:
        raise RequestError(
            f"unable to find data for input tensor '{tensor.name}' for model "
            f"'{model_name}' in request."
        )
    return found


def _output(tensor: Any, memory: SharedMemory) -> WireOutput:
    if not tensor.parameters:
        return WireOutput(until_nul(tensor.name))
    region = _region_of(tensor)
    count = _class_count(tensor)
    if region is not None and count is not None:
        raise RequestError(
            "output can't set both 'shared_memory_region' and 'classification'"
        )
    window = None if region is None else memory.window(*region)
    return WireOutput(until_nul(tensor.name), count, window)


def _class_count(tensor: Any) -> int | None:
    value = tensor.parameters.get(_CLASSES)
    if value is None:
        return None
    if value.WhichOneof("parameter_choice") != "int64_param":
        raise RequestError(
            f"invalid value type for '{_CLASSES}' parameter, expected int64_param"
        )
    if value.int64_param <= 0:
        raise RequestError(f"invalid value for '{_CLASSES}' parameter, expected >= 0")
    return int(value.int64_param) % CLASS_COUNTS


def _region_of(tensor: Any) -> tuple[str, int, int] | None:
    """Return region, offset and size of a tensor in shared memory, else None.

    References
    ----------
    server: src/grpc/grpc_utils.h, ParseSharedMemoryParams
    """
    region = _parameter(tensor, _REGION, "string_param")
    numbers: dict[str, int] = {}
    for name in (_OFFSET, _SIZE):
        if name not in tensor.parameters:
            continue
        if region is None:
            raise RequestError(
                f"'{name}' can not be specified without '{_REGION}' parameter for "
                f"tensor '{tensor.name}'"
            )
        numbers[name] = _parameter(tensor, name, "int64_param")
    if region is None:
        return None
    if _SIZE not in numbers:
        raise RequestError(
            f"'{_SIZE}' must be specified along with '{_REGION}' parameter for tensor "
            f"'{tensor.name}'"
        )
    # Triton reads a negative number as a huge one.
    return region, numbers.get(_OFFSET, 0) % _SIZES, numbers[_SIZE] % _SIZES


def _parameter(tensor: Any, name: str, kind: str) -> Any:
    # Indexing the map would add an entry.
    value = tensor.parameters.get(name)
    if value is None:
        return None
    if value.WhichOneof("parameter_choice") != kind:
        raise RequestError(
            f"invalid value type for '{name}' parameter for tensor '{tensor.name}', "
            f"expected {kind}."
        )
    return getattr(value, kind)


def _contents(tensor: Any, model_name: str) -> bytes:
    """Return the elements of an input's ``contents`` in binary form.

    References
    ----------
    server: src/grpc/infer_handler.cc, InferGRPCToInput
    """
    datatype = tensor.datatype if tensor.datatype in BY_DATATYPE else _INVALID
    data = b""
    for field, datatypes in _CONTENTS.items():
        elements = getattr(tensor.contents, field)
        if not elements:
            continue
        if data:
            raise _unexpected(tensor, model_name, ", binary data was already supplied.")
        if datatype not in datatypes:
            end = f" of type '{datatypes[0]}', expected datatype '{datatype}'"
            raise _unexpected(tensor, model_name, end)
        data = _packed(elements, datatype, datatypes[0])
    return data


def _unexpected(tensor: Any, model_name: str, end: str) -> RequestError:
    return RequestError(
        f"unexpected explicit tensor data for input tensor '{tensor.name}' for model "
        f"'{model_name}'{end}"
    )


def _packed(elements: Any, datatype: str, own: str) -> bytes:
    if datatype == "BYTES":
        return byte_strings.pack(elements)
    # Triton keeps the lowest bytes of a number that is too large.
    wide, narrow = BY_DATATYPE[own].dtype, BY_DATATYPE[datatype].dtype
    return bytes(np.array(elements, wide).astype(narrow).tobytes())
