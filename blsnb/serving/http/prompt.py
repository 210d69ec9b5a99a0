"""HttpPrompt: the object that ``generate`` takes, as an inference request."""

from __future__ import annotations

import math

from blsnb.engine.request.validation import RequestError
from blsnb.engine.served import Served
from blsnb.model.config import TensorSpec
from blsnb.serving.core.parameters import Parameter, named_twice, until_nul
from blsnb.serving.core.wire import WireInput, WireRequest
from blsnb.serving.http import json_values, tensors
from blsnb.serving.http.json_body import Json, Members
from blsnb.serving.http.parameters import custom, identity
from blsnb.tensors.dtypes import Shape

_NESTED = "parameters"


def read_prompt(served: Served, version: int, document: Json) -> WireRequest:
    """Return the request that an object is.

    Members with the names of inputs are these, all others are parameters.

    Raises
    ------
    RequestError
        A member is wrong; the text is Triton's.

    References
    ----------
    server: src/http_server.cc, ConvertGenerateRequest
    """
    request_id = identity(document)
    prompt = _Prompt(served, request_id)
    members = json_values.members(document)
    for name in _names(members):
        if name == _NESTED:
            prompt.take_nested(members)
        else:
            prompt.take(name, members)
    return WireRequest(
        served.info.name,
        version,
        request_id,
        tuple(prompt.inputs.values()),
        parameters=prompt.parameters,
    )


def _names(members: dict[str, Json]) -> list[str]:
    """Return names as they are read: one that is there twice counts twice."""
    names = members.names if isinstance(members, Members) else members
    return list(map(until_nul, names))


class _Prompt:
    """Sorts the members of an object into inputs and parameters."""

    def __init__(self, served: Served, request_id: str) -> None:
        self._request_id = request_id
        self._specs = {spec.name: spec for spec in served.config.inputs}
        self._batch = (-1,) if served.config.max_batch_size > 0 else ()
        self.inputs: dict[str, WireInput] = {}
        self.parameters: dict[str, Parameter] = {}

    def take_nested(self, given: dict[str, Json]) -> None:
        if _NESTED in self._specs:
            raise RequestError(
                f"Keyword '{_NESTED}' for nested schema also given as input tensor name"
            )
        with json_values.error_prefix(f"Expected JSON object for keyword: '{_NESTED}'"):
            nested = json_values.as_object(json_values.member(given, _NESTED))
        with json_values.error_prefix(f"Converting keyword: '{_NESTED}'"):
            for name in _names(nested):
                self.take(name, nested)

    def take(self, name: str, given: dict[str, Json]) -> None:
        spec = self._specs.get(name)
        if spec is None:
            shown = json_values.valid_unicode(name)
            self.parameters[shown] = custom(shown, json_values.parameter(given, name))
            return
        if name not in given:
            raise RequestError(
                f"unexpected key not found in generate request, expecting key '{name}'"
            )
        found = self._input(spec, given[name])
        if name in self.inputs:
            raise named_twice(self._request_id, name)
        self.inputs[name] = found

    def _input(self, spec: TensorSpec, value: Json) -> WireInput:
        count = len(value) if isinstance(value, list) else 1
        if spec.datatype == "BYTES":
            data = tensors.read_strings(value)
            shape = self._shape(spec, count)
        else:
            shape = self._shape(spec, count)
            data = tensors.read(spec.name, spec.datatype, value, count)
        return WireInput(spec.name, spec.datatype, shape, data)

    def _shape(self, spec: TensorSpec, count: int) -> Shape:
        """Return the shape of so many elements: the last axis that varies has most."""
        dims = (*self._batch, *spec.dims)
        fixed = math.prod(length for length in dims if length != -1)
        left, remainder = divmod(count, fixed)
        shape: list[int] = []
        for length in reversed(dims):
            shape.append(left if length == -1 else length)
            left = 1 if length == -1 else left
        if remainder or left != 1:
            raise RequestError(
                f"The schema can not convert input '{spec.name}' to tensor with proper "
                "shape"
            )
        return tuple(reversed(shape))
