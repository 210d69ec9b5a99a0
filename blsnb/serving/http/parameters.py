"""The id and the parameters of an inference request in JSON."""

from __future__ import annotations

from collections.abc import Callable

from blsnb.engine.request.validation import RequestError
from blsnb.request_fields import Parameter
from blsnb.serving.core.parameters import (
    RESERVED_PREFIX,
    RequestParameters,
    until_nul,
)
from blsnb.serving.http import json_values
from blsnb.serving.http.json_body import Json

_BINARY = "binary_data_output"
_SIGNED = range(-(2**63), 2**63)


def identity(document: Json) -> str:
    """Return the id of a request; empty without one."""
    return json_values.optional(document, "id", json_values.as_string, "")


def parameters_of(document: Json) -> RequestParameters:
    """Return the parameters of an inference request.

    References
    ----------
    server: src/http_server.cc, ParseJsonTritonParams
    """
    found = RequestParameters()
    if json_values.has(document, "parameters"):
        with json_values.error_prefix("failed to get request params."):
            members = json_values.members(document["parameters"])
        for name in members:
            _add(found, until_nul(name), members)
    return found


def _add(found: RequestParameters, key: str, members: dict[str, Json]) -> None:
    name = json_values.valid_unicode(key)
    if name.startswith(RESERVED_PREFIX):
        raise RequestError(
            "parameter keys starting with 'triton_' are reserved for Triton usage "
            "and should not be specified."
        )
    if name == _BINARY:
        binary = json_values.required(members, key, json_values.as_boolean)
        found.protocol_option = binary
    elif name in _READERS:
        found.reserve(name, json_values.required(members, key, _READERS[name]))
    else:
        found.custom[name] = custom(name, json_values.parameter(members, key))


def _correlation_id(value: Json) -> int | str:
    if json_values.is_unsigned(value):
        return json_values.as_unsigned(value)
    return json_values.as_string(value)


_READERS: dict[str, Callable[[Json], Parameter]] = {
    "sequence_id": _correlation_id,
    "sequence_start": json_values.as_boolean,
    "sequence_end": json_values.as_boolean,
    "priority": json_values.as_unsigned,
    "timeout": json_values.as_unsigned,
}
"""Readers of the parameters that are fields of the request."""


def custom(name: str, value: Json) -> Parameter:
    """Return a parameter for the model.

    References
    ----------
    server: src/http_server.cc, SetTritonParameterFromJsonParameter
    """
    if isinstance(value, str):
        return json_values.as_string(value)
    if isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        # Triton reads an integer that exceeds 64 bits as a double.
        return value if value in _SIGNED else float(value)
    raise RequestError(
        f"parameter '{name}' has invalid type. It should be either 'int', 'bool', or "
        "'string'."
    )
