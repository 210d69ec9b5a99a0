"""Tensors in JSON bodies: elements of requests, and the body of a response."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from blsnb.engine.request.validation import RequestError
from blsnb.pb_utils.compiled.json_text import bytes_of
from blsnb.serving.core.wire import WireResponse, WireTensor
from blsnb.serving.http import json_values
from blsnb.serving.http.json_body import Json
from blsnb.tensors.dtypes import BY_DATATYPE
from blsnb.tensors.ref import TensorRef

_BINARY_ONLY = ("FP16", "BF16")
_WRONG_COUNT = RequestError(
    "Shape does not match true shape of 'data' field", "INTERNAL"
)
_MAX_DEPTH = 200
_LENGTH_BYTES = 4


class _Elements(NamedTuple):
    """The JSON elements that tensors of some datatypes accept.

    Parameters
    ----------
    types
        Python's types of the elements.
    names
        Triton's name of the expected type, and of the access if that is another.
    least, end
        Range of integers, without its end.
    """

    types: frozenset[type]
    names: tuple[str, ...]
    least: float = -math.inf
    end: float = math.inf

    def accept(self, element: Json) -> bool:
        if type(element) not in self.types:
            return False
        return type(element) is not int or self.least <= element < self.end


_DOUBLES = _Elements(frozenset((int, float)), ("number", "double"))
_SIGNED = _Elements(frozenset((int,)), ("signed-integer",), -(2**63), 2**63)
_UNSIGNED = _Elements(frozenset((int,)), ("unsigned-integer",), 0, 2**64)
_BOOLEANS = _Elements(frozenset((bool,)), ("boolean",))
_ELEMENTS = {
    "BOOL": (_BOOLEANS, np.bool_),
    "FP32": (_DOUBLES, np.float64),
    "FP64": (_DOUBLES, np.float64),
    **dict.fromkeys(("INT8", "INT16", "INT32", "INT64"), (_SIGNED, np.int64)),
    **dict.fromkeys(("UINT8", "UINT16", "UINT32", "UINT64"), (_UNSIGNED, np.uint64)),
}


def read(name: str, datatype: str, data: Json, count: int, max_depth: int = 0) -> bytes:
    """Return elements other than BYTES in the binary form of a tensor.

    Integers that are too large wrap around, as on Triton.

    Parameters
    ----------
    data
        An element, or a list, nested in any way.
    count
        The expected number of elements.
    max_depth
        Maximum depth of lists; 0 for that of releases that have none.

    References
    ----------
    server: src/http_server.cc, ReadDataFromJson
    """
    if datatype in _BINARY_ONLY:
        raise RequestError(
            f"receiving {datatype} data via JSON is not supported. Please use the "
            f"binary data format for input {name}"
        )
    if datatype not in _ELEMENTS:
        raise RequestError(f"invalid datatype for input {name}")
    with json_values.error_prefix("Unable to parse 'data'"):
        return _packed(datatype, list(_flat(data, max_depth)), count)


def _packed(datatype: str, flat: list[Json], count: int) -> bytes:
    expected, wide = _ELEMENTS[datatype]
    # Triton does not check elements beyond the shape.
    _check(expected, flat[:count] if len(flat) > count else flat)
    if len(flat) != count:
        raise _WRONG_COUNT
    dtype = BY_DATATYPE[datatype].dtype
    if expected is _DOUBLES and int in set(map(type, flat)):
        flat = [_double(each) if type(each) is int else each for each in flat]
    with np.errstate(over="ignore", invalid="ignore"):
        return np.array(flat, wide).astype(dtype).tobytes()


def _double(number: int) -> float:
    """Return the value of an integer as a double.

    Beyond 64 bits the digits are added one after the other, and each may be rounded.

    References
    ----------
    rapidjson: include/rapidjson/reader.h, GenericReader::ParseNumber
    """
    if -(2**63) <= number < 2**64:
        return float(number)
    limit = 2**63 if number < 0 else 2**64 - 1
    digits = str(abs(number))
    whole = next(n for n in range(20, 0, -1) if int(digits[:n]) <= limit)
    value = float(int(digits[:whole]))
    for digit in digits[whole:]:
        value = value * 10 + int(digit)
    return -value if number < 0 else value


def _check(expected: _Elements, elements: list[Json]) -> None:
    types_match = set(map(type, elements)) <= expected.types
    if types_match and _in_range(expected, elements):
        return
    if not all(map(expected.accept, elements)):
        raise json_values.wrong_type(*expected.names)


def _in_range(expected: _Elements, elements: list[Json]) -> bool:
    if int not in expected.types or not elements:
        return True
    return bool(expected.least <= min(elements) and max(elements) < expected.end)


def _flat(data: Json, max_depth: int, depth: int = 0) -> Iterator[Json]:
    if max_depth and depth >= max_depth:
        raise RequestError(
            f"JSON nesting depth exceeds maximum allowed limit ({max_depth})"
        )
    if not isinstance(data, list):
        yield data
    elif list not in set(map(type, data)) and depth + 1 != max_depth:
        yield from data
    else:
        if depth > _MAX_DEPTH:
            raise _WRONG_COUNT
        for each in data:
            yield from _flat(each, max_depth, depth + 1)


def read_strings(data: Json, max_depth: int) -> bytes:
    """Return strings in the binary form of a tensor: each after its length.

    Parameters
    ----------
    max_depth
        As of `read`.
    """
    parts = []
    elements = list(_flat(data, max_depth))
    with json_values.error_prefix("Unable to parse JSON bytes array"):
        for each in elements:
            text = json_values.as_text(each).encode("utf-8", "surrogateescape")
            parts.append(len(text).to_bytes(_LENGTH_BYTES, "little") + text)
    return b"".join(parts)


def elements_of(tensor: WireTensor) -> list[Json]:
    """Return the elements of a tensor as a flat list of JSON values.

    References
    ----------
    server: src/http_server.cc, WriteDataToJson
    """
    if tensor.datatype in _BINARY_ONLY:
        raise RequestError(
            f"sending {tensor.datatype} data via JSON is not supported. Please use the "
            "binary data format for output"
        )
    dtype = BY_DATATYPE.get(tensor.datatype)
    if dtype is None:
        raise RequestError("Invalid data type for output tensor")
    ref = TensorRef(tensor.name, dtype, tensor.shape, tensor.data)
    elements: list[Json] = ref.view().ravel().tolist()
    if tensor.datatype == "BYTES":
        return [each.decode("utf-8", "surrogateescape") for each in elements]
    return elements


def body_of(
    response: WireResponse, is_binary: Callable[[str], bool]
) -> tuple[bytes, int]:
    """Return the body of a response, and the length of its text before binary tensors.

    The length is 0 if none follow.

    References
    ----------
    server: src/http_server.cc, FinalizeResponse
    """
    members: dict[str, Json] = {"id": response.id} if response.id else {}
    members["model_name"] = response.model_name
    members["model_version"] = response.model_version
    if response.parameters:
        members["parameters"] = dict(response.parameters)
    binary: list[bytes | memoryview] = []
    members["outputs"] = outputs = []
    for tensor in response.outputs:
        output: dict[str, Json] = {
            "name": tensor.name,
            "datatype": tensor.datatype,
            "shape": list(tensor.shape),
        }
        if tensor.window is None and is_binary(tensor.name):
            output["parameters"] = {"binary_data_size": len(tensor.data)}
            binary.append(tensor.data)
        elif tensor.window is None:
            output["data"] = elements_of(tensor)
        outputs.append(output)
    text = bytes_of(members)
    tail = b"".join(binary)
    return text + tail, len(text) if tail else 0
