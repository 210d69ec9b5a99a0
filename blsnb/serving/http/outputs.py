"""HttpOutputs: the outputs that a request wants, and the response as a body."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from blsnb.engine.request.validation import RequestError
from blsnb.pb_utils.compiled.json_text import bytes_of
from blsnb.serving.core.shared_memory import SharedMemory
from blsnb.serving.core.wire import WireOutput, WireResponse, WireTensor
from blsnb.serving.http import json_values, tensors
from blsnb.serving.http.inputs import window
from blsnb.serving.http.json_body import Json


@dataclass(slots=True)
class HttpOutputs:
    """What outputs a request wants, and in which form.

    Parameters
    ----------
    binary
        Whether those that it does not name are sent as bytes.
    wanted
        Those that it names.
    """

    binary: bool
    wanted: list[WireOutput] = field(default_factory=list)
    _forms: dict[str, bool] = field(default_factory=dict)
    """Whether an output is sent as bytes."""

    def read(self, document: Json, memory: SharedMemory) -> None:
        """Take the outputs that a request names.

        Raises
        ------
        RequestError
            They are wrong; the text is Triton's.

        References
        ----------
        server: src/http_server.cc, ParseJsonTritonIO
        """
        if not json_values.has(document, "outputs"):
            return
        with json_values.parsing("outputs"):
            given = json_values.as_array(document["outputs"])
        for each in given:
            self._take(each, memory)

    def _take(self, given: Json, memory: SharedMemory) -> None:
        parameters = json_values.find(given, "parameters")
        _check_form(parameters)
        with json_values.parsing("name"):
            name = json_values.as_string(json_values.member(given, "name"))
        count = _class_count(parameters)
        shared = window(parameters, memory)
        binary = shared is None and _binary(parameters, "Unable to parse")
        self.wanted.append(WireOutput(name, count, shared))
        # Of an output that is named twice the first form counts.
        self._forms.setdefault(name, binary)

    def is_binary(self, name: str) -> bool:
        """Whether an output is sent as bytes."""
        return self._forms.get(name, self.binary)


def _check_form(parameters: Json) -> None:
    if not json_values.has(parameters, "shared_memory_region"):
        return
    others = {
        "classification": json_values.has(parameters, "classification"),
        "binary_data": _binary(parameters, "Unable to set"),
    }
    for name, there in others.items():
        if there:
            raise RequestError(
                f"Output can't set both 'shared_memory_region' and '{name}'"
            )


def _binary(parameters: Json, words: str) -> bool:
    if not json_values.has(parameters, "binary_data"):
        return False
    with json_values.error_prefix(f"{words} 'binary_data'"):
        return json_values.as_boolean(parameters["binary_data"])


def _class_count(parameters: Json) -> int:
    if not json_values.has(parameters, "classification"):
        return 0
    with json_values.error_prefix("Unable to set 'classification'"):
        return json_values.as_unsigned(parameters["classification"])


class Body(NamedTuple):
    """A response as a body.

    Parameters
    ----------
    header_length
        Bytes of the JSON text, if tensors follow it; else 0.
    """

    data: bytes
    header_length: int


def body_of(response: WireResponse, outputs: HttpOutputs) -> Body:
    """Return a response as it is sent.

    Raises
    ------
    RequestError
        An output has no form in JSON; the text is Triton's.

    References
    ----------
    server: src/http_server.cc, FinalizeResponse
    """
    members: dict[str, Json] = {"id": response.id} if response.id else {}
    members["model_name"] = response.model_name
    members["model_version"] = response.model_version
    if response.parameters:
        members["parameters"] = dict(response.parameters)
    members["outputs"] = [_described(each, outputs) for each in response.outputs]
    text = bytes_of(members)
    tail = b"".join(_binaries(response, outputs))
    return Body(text + tail, len(text) if tail else 0)


def _described(tensor: WireTensor, outputs: HttpOutputs) -> Json:
    said: dict[str, Json] = {
        "name": tensor.name,
        "datatype": tensor.datatype,
        "shape": list(tensor.shape),
    }
    if tensor.window is None:
        if outputs.is_binary(tensor.name):
            said["parameters"] = {"binary_data_size": tensor.byte_size}
        else:
            said["data"] = tensors.elements_of(tensor)
    return said


def _binaries(
    response: WireResponse, outputs: HttpOutputs
) -> Iterator[bytes | memoryview]:
    for tensor in response.outputs:
        if tensor.window is None and outputs.is_binary(tensor.name):
            yield tensor.data
