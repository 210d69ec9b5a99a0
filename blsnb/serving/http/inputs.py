"""HttpInputs: the inputs of a request: in JSON, in bytes after it, or shared."""

from __future__ import annotations

import math
from collections.abc import Iterator

from blsnb.engine.request.validation import RequestError
from blsnb.serving.core.parameters import named_twice
from blsnb.serving.core.shared_memory import SharedMemory, Window
from blsnb.serving.core.wire import WireInput
from blsnb.serving.http import json_values, tensors
from blsnb.serving.http.json_body import Json
from blsnb.tensors.dtypes import Shape

_SIZE = "binary_data_size"
_REGION = "shared_memory_region"
_HALF = 2**63


class HttpInputs:
    """Reads the inputs of one request.

    Parameters
    ----------
    model_name, request_id
        Of the request, for what is said of a wrong one.
    memory
        The shared memory of clients.
    tail
        What follows the JSON text.

    References
    ----------
    server: src/http_server.cc, ParseJsonTritonIO
    """

    def __init__(
        self, model_name: str, request_id: str, memory: SharedMemory, tail: memoryview
    ) -> None:
        self._model_name = model_name
        self._request_id = request_id
        self._memory = memory
        self._tail = tail

    def read(self, document: Json) -> tuple[WireInput, ...]:
        """Return the inputs that a request has.

        Raises
        ------
        RequestError
            They are wrong, or bytes are missing or left over; the text is Triton's.
        """
        with json_values.parsing("inputs"):
            given = json_values.as_array(json_values.member(document, "inputs"))
        inputs = tuple(self._each(given))
        if self._tail:
            raise RequestError(
                f"unexpected additional input data for model '{self._model_name}'"
            )
        return inputs

    def _each(self, given: list[Json]) -> Iterator[WireInput]:
        names: set[str] = set()
        for each in given:
            _check_source(each)
            name, datatype = (_named(each, "name"), _named(each, "datatype"))
            shape = _shape(each)
            if name in names:
                raise named_twice(self._request_id, name)
            names.add(name)
            data = self._data(name, datatype, shape, each)
            yield WireInput(name, datatype, shape, data)

    def _data(self, name: str, datatype: str, shape: Shape, given: Json) -> bytes:
        parameters = json_values.find(given, "parameters")
        if json_values.has(parameters, _SIZE):
            with json_values.parsing(_SIZE):
                size = json_values.as_unsigned(parameters[_SIZE])
            return self._from_tail(name, size)
        shared = window(parameters, self._memory)
        if shared is not None:
            return shared.read()
        # Of a tensor without an axis Triton takes no element.
        count = math.prod(shape) if shape else 0
        if not count:
            return b""
        with json_values.parsing("data"):
            data = json_values.as_array(given["data"])
        return tensors.read(name, datatype, data, count)

    def _from_tail(self, name: str, size: int) -> bytes:
        missing = size - len(self._tail)
        if missing > 0:
            raise RequestError(
                f"unexpected size for input '{name}', expecting {missing} additional "
                f"bytes for model '{self._model_name}'"
            )
        data, self._tail = bytes(self._tail[:size]), self._tail[size:]
        return data


def _check_source(given: Json) -> None:
    """Refuse an input that has its elements in no place, or in several."""
    parameters = json_values.find(given, "parameters")
    sources = {
        "data": json_values.has(given, "data"),
        _SIZE: json_values.has(parameters, _SIZE),
        _REGION: json_values.has(parameters, _REGION),
    }
    found = [f" '{name}'" for name, there in sources.items() if there]
    if len(found) == 1:
        return
    said = f" set{''.join(found)}" if found else " no field is set"
    raise RequestError(
        "Input must set only one of the following fields: 'data', 'binary_data_size' "
        f"in 'parameters', 'shared_memory_region' in 'parameters'. But{said}"
    )


def _named(given: Json, name: str) -> str:
    with json_values.parsing(name):
        return json_values.as_string(json_values.member(given, name))


def _shape(given: Json) -> Shape:
    with json_values.parsing("shape"):
        lengths = json_values.as_array(json_values.member(given, "shape"))
        found = [json_values.as_unsigned(length) for length in lengths]
    # Triton keeps them with a sign.
    return tuple(each - 2 * _HALF if each >= _HALF else each for each in found)


def window(parameters: Json, memory: SharedMemory) -> Window | None:
    """Return the part of shared memory that the parameters of a tensor name.

    Raises
    ------
    RequestError
        It is not there, or they are wrong; the text is Triton's.

    References
    ----------
    server: src/http_server.cc, CheckSharedMemoryData
    """
    name = None
    if json_values.has(parameters, _REGION):
        with json_values.parsing(_REGION):
            name = json_values.as_string(parameters[_REGION])
    offset = _count(parameters, "shared_memory_offset")
    size = _count(parameters, "shared_memory_byte_size")
    return None if name is None else memory.window(name, offset, size)


def _count(parameters: Json, name: str) -> int:
    if not json_values.has(parameters, name):
        return 0
    with json_values.parsing(name):
        return json_values.as_unsigned(parameters[name])
