"""HttpTensors: elements written in JSON, as bytes of a tensor, and the way back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from blsnb.engine.request.validation import RequestError
from blsnb.serving.core.wire import WireTensor
from blsnb.serving.http import json_values
from blsnb.serving.http.json_body import Json
from blsnb.tensors.dtypes import BY_DATATYPE
from blsnb.tensors.ref import TensorRef

_BINARY_ONLY = ("FP16", "BF16")
_OF_OTHER_LENGTH = RequestError(
    "Shape does not match true shape of 'data' field", "INTERNAL"
)
_DEEPEST = 200
_LENGTH = 4


class _Reading(NamedTuple):
    """How elements of some types are read from JSON.

    Parameters
    ----------
    types
        Of Python, that stand for them.
    least, most
        The range of whole numbers, from and to excluding.
    words
        What Triton calls others, and what it wants.
    """

    types: frozenset[type]
    least: int
    most: int
    words: tuple[str, str]

    def takes(self, element: Json) -> bool:
        """Whether an element can be read."""
        if type(element) not in self.types:
            return False
        return type(element) is not int or self.least <= element < self.most


_DOUBLES = _Reading(frozenset((int, float)), -(2**1023), 2**1023, ("number", "double"))
_SIGNED = _Reading(
    frozenset((int,)), -(2**63), 2**63, ("signed-integer", "signed-integer")
)
_UNSIGNED = _Reading(
    frozenset((int,)), 0, 2**64, ("unsigned-integer", "unsigned-integer")
)
_BOOLEANS = _Reading(frozenset((bool,)), 0, 2, ("boolean", "boolean"))
_READINGS = {
    "BOOL": (_BOOLEANS, np.bool_),
    "FP32": (_DOUBLES, np.float64),
    "FP64": (_DOUBLES, np.float64),
    **dict.fromkeys(("INT8", "INT16", "INT32", "INT64"), (_SIGNED, np.int64)),
    **dict.fromkeys(("UINT8", "UINT16", "UINT32", "UINT64"), (_UNSIGNED, np.uint64)),
}


def read(name: str, datatype: str, data: Json, count: int) -> bytes:
    """Return elements in a tensor's form.

    Whole numbers that are too large wrap, as Triton's do.

    Parameters
    ----------
    data
        A list, which may be nested in any way; or a single element.
    count
        How many there must be; of BYTES any number is taken.

    Raises
    ------
    RequestError
        They are others, or of a type that JSON has not; the text is Triton's.

    References
    ----------
    server: src/http_server.cc, ReadDataFromJson
    """
    if datatype == "BYTES":
        return read_strings(data)
    if datatype in _BINARY_ONLY:
        raise RequestError(
            f"receiving {datatype} data via JSON is not supported. Please use the "
            f"binary data format for input {name}"
        )
    if datatype not in _READINGS:
        raise RequestError(f"invalid datatype for input {name}")
    with json_values.error_prefix("Unable to parse 'data'"):
        return _elements(datatype, list(_flat(data)), count)


def _elements(datatype: str, flat: list[Json], count: int) -> bytes:
    reading, wide = _READINGS[datatype]
    # Those beyond the shape are not looked at: there are too many.
    _check(reading, flat[:count] if len(flat) > count else flat)
    if len(flat) != count:
        raise _OF_OTHER_LENGTH
    dtype = BY_DATATYPE[datatype].dtype
    with np.errstate(over="ignore", invalid="ignore"):
        return np.array(flat, wide).astype(dtype).tobytes()


def _check(reading: _Reading, elements: list[Json]) -> None:
    if set(map(type, elements)) <= reading.types and _within(reading, elements):
        return
    if not all(map(reading.takes, elements)):
        found, wanted = reading.words
        raise RequestError(
            f"attempt to access JSON non-{found} as {wanted}", "INTERNAL"
        )


def _within(reading: _Reading, elements: list[Json]) -> bool:
    if int not in reading.types or not elements:
        return True
    return bool(reading.least <= min(elements) and max(elements) < reading.most)


def _flat(data: Json, depth: int = 0) -> Iterator[Json]:
    if not isinstance(data, list):
        yield data
    elif list not in set(map(type, data)):
        yield from data
    else:
        if depth > _DEEPEST:
            raise _OF_OTHER_LENGTH
        for each in data:
            yield from _flat(each, depth + 1)


def read_strings(data: Json) -> bytes:
    """Return strings in a tensor's form: each after its length.

    Raises
    ------
    RequestError
        An element is none.
    """
    parts = []
    with json_values.error_prefix("Unable to parse JSON bytes array"):
        for each in _flat(data):
            text = json_values.as_text(each).encode("utf-8", "surrogateescape")
            parts.append(len(text).to_bytes(_LENGTH, "little") + text)
    return b"".join(parts)


def elements_of(tensor: WireTensor) -> list[Json]:
    """Return the elements of a tensor as a flat list, which JSON can have.

    Raises
    ------
    RequestError
        JSON has no such elements; the text is Triton's.

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
