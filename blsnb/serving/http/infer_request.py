"""The inputs and the requested outputs of an inference request in JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from blsnb.engine.request.validation import RequestError
from blsnb.serving.core.parameters import repeated_input
from blsnb.serving.core.request_rules import RequestRules
from blsnb.serving.core.shared_memory import RegionWindow, SharedMemory
from blsnb.serving.core.wire import CLASS_COUNTS, WireInput, WireOutput
from blsnb.serving.http import tensors
from blsnb.serving.http.json_body import Json
from blsnb.serving.http.json_values import (
    as_array,
    as_boolean,
    as_string,
    as_unsigned,
    find,
    has,
    optional,
    required,
)
from blsnb.tensors.dtypes import Shape

_SIZE = "binary_data_size"
_REGION = "shared_memory_region"
_SET = "Unable to set"
_HALF = 2**63


class HttpInputs:
    """Reads the inputs of one request.

    References
    ----------
    server: src/http_server.cc, ParseJsonTritonIO
    """

    def __init__(
        self,
        model_name: str,
        request_id: str,
        memory: SharedMemory,
        tail: memoryview,
        rules: RequestRules,
    ) -> None:
        self._rules = rules
        self._model_name = model_name
        self._request_id = request_id
        self._memory = memory
        self._tail = tail

    def read(self, document: Json) -> tuple[WireInput, ...]:
        """Return the inputs."""
        inputs = required(document, "inputs", as_array)
        found = tuple(self._each(inputs))
        if self._tail:
            raise RequestError(
                f"unexpected additional input data for model '{self._model_name}'"
            )
        return found

    def _each(self, inputs: list[Json]) -> Iterator[WireInput]:
        names: set[str] = set()
        for each in inputs:
            _check_source(each)
            name = required(each, "name", as_string)
            datatype = required(each, "datatype", as_string)
            shape = required(each, "shape", _shape)
            if name in names:
                raise repeated_input(self._request_id, name)
            names.add(name)
            data = self._data(name, datatype, shape, each)
            yield WireInput(name, datatype, shape, data)

    def _data(
        self, name: str, datatype: str, shape: Shape, value: Json
    ) -> bytes | memoryview:
        parameters = find(value, "parameters")
        size = optional(parameters, _SIZE, as_unsigned, None)
        if size is not None:
            return self._from_tail(name, size)
        shared = window(parameters, self._memory)
        if shared is not None:
            return shared.read()
        rules = self._rules
        count = rules.element_count(name, shape)
        if not count:
            return b""
        elements = required(value, "data", as_array)
        if datatype == "BYTES":
            data = tensors.read_strings(elements, rules.max_depth)
            rules.check_input_size(name, datatype, len(data))
            return data
        rules.check_input_size(name, datatype, count)
        return tensors.read(name, datatype, elements, count, rules.max_depth)

    def _from_tail(self, name: str, size: int) -> bytes:
        missing = size - len(self._tail)
        if missing > 0:
            raise RequestError(
                f"unexpected size for input '{name}', expecting {missing} additional "
                f"bytes for model '{self._model_name}'"
            )
        data, self._tail = bytes(self._tail[:size]), self._tail[size:]
        return data


def _check_source(value: Json) -> None:
    """Refuse an input without elements, or with several sources of them."""
    parameters = find(value, "parameters")
    sources = {
        "data": has(value, "data"),
        _SIZE: has(parameters, _SIZE),
        _REGION: has(parameters, _REGION),
    }
    found = [f" '{name}'" for name, is_set in sources.items() if is_set]
    if len(found) == 1:
        return
    actual = f" set{''.join(found)}" if found else " no field is set"
    raise RequestError(
        "Input must set only one of the following fields: 'data', 'binary_data_size' "
        f"in 'parameters', 'shared_memory_region' in 'parameters'. But{actual}"
    )


def _shape(value: Json) -> Shape:
    lengths = map(as_unsigned, as_array(value))
    # Triton keeps them in signed integers.
    return tuple(each - 2 * _HALF if each >= _HALF else each for each in lengths)


def window(parameters: Json, memory: SharedMemory) -> RegionWindow | None:
    """Return the part of shared memory that a tensor's parameters name.

    References
    ----------
    server: src/http_server.cc, CheckSharedMemoryData
    """
    name = optional(parameters, _REGION, as_string, None)
    offset = optional(parameters, "shared_memory_offset", as_unsigned, 0)
    size = optional(parameters, "shared_memory_byte_size", as_unsigned, 0)
    return None if name is None else memory.window(name, offset, size)


@dataclass(slots=True)
class HttpOutputs:
    """The requested outputs, and which of them are sent in binary form.

    Parameters
    ----------
    binary
        Whether outputs are binary that the request does not list.
    requested
        Outputs that it lists.
    """

    binary: bool
    requested: list[WireOutput] = field(default_factory=list)
    _is_binary: dict[str, bool] = field(default_factory=dict)

    def read(self, document: Json, memory: SharedMemory) -> None:
        """Read the outputs that a request lists.

        References
        ----------
        server: src/http_server.cc, ParseJsonTritonIO
        """
        for each in optional(document, "outputs", as_array, ()):
            self._add(each, memory)

    def _add(self, value: Json, memory: SharedMemory) -> None:
        parameters = find(value, "parameters")
        _check_form(parameters)
        name = required(value, "name", as_string)
        count = optional(parameters, "classification", as_unsigned, 0, _SET)
        shared = window(parameters, memory)
        binary = optional(parameters, "binary_data", as_boolean, False)
        # For an output that is listed twice the first form applies, plain or not.
        form = (count % CLASS_COUNTS or None, shared)
        is_first = name not in self._is_binary
        self.requested.append(WireOutput(name, *form) if is_first else WireOutput(name))
        self._is_binary.setdefault(name, shared is None and binary)

    def is_binary(self, name: str) -> bool:
        """Whether an output is sent in binary form."""
        return self._is_binary.get(name, self.binary)


def _check_form(parameters: Json) -> None:
    """Refuse an output in shared memory that has another form, too."""
    if not has(parameters, _REGION):
        return
    conflicts = {
        "classification": has(parameters, "classification"),
        "binary_data": optional(parameters, "binary_data", as_boolean, False, _SET),
    }
    for name, is_set in conflicts.items():
        if is_set:
            raise RequestError(
                f"Output can't set both 'shared_memory_region' and '{name}'"
            )
