"""HttpParameters: the id and the parameters of an inference request in JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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


@dataclass(slots=True)
class HttpParameters(RequestParameters):
    """What the parameters of a request say.

    Parameters
    ----------
    binary
        Whether outputs that are not named are sent as bytes.
    """

    binary: bool = False

    def take(self, key: str, given: dict[str, Json]) -> None:
        """Take one of the parameters that are given.

        Raises
        ------
        RequestError
            Its value is of another type, or its name is reserved.
        """
        key = until_nul(key)
        name = json_values.valid_unicode(key)
        if name.startswith(RESERVED_PREFIX):
            raise RequestError(
                "parameter keys starting with 'triton_' are reserved for Triton usage "
                "and should not be specified."
            )
        if name not in (*_READ, _BINARY):
            self.custom[name] = custom(name, json_values.parameter(given, key))
            return
        with json_values.parsing(name):
            value = json_values.member(given, key)
            if name == _BINARY:
                self.binary = json_values.as_boolean(value)
            else:
                self.reserved[name] = _READ[name](value)


def _correlation_id(value: Json) -> int | str:
    if json_values.is_unsigned(value):
        return json_values.as_unsigned(value)
    return json_values.as_string(value)


_READ: dict[str, Callable[[Json], Parameter]] = {
    "sequence_id": _correlation_id,
    "sequence_start": json_values.as_boolean,
    "sequence_end": json_values.as_boolean,
    "priority": json_values.as_unsigned,
    "timeout": json_values.as_unsigned,
}
"""How the parameters that are fields of the request are read."""


def custom(name: str, value: Json) -> Parameter:
    """Return a parameter for the model.

    Raises
    ------
    RequestError
        It is null, a list or an object.

    References
    ----------
    server: src/http_server.cc, SetTritonParameterFromJsonParameter
    """
    if isinstance(value, str):
        return json_values.as_string(value)
    if isinstance(value, bool | float) or json_values.is_integer(value):
        return value  # type: ignore[no-any-return]
    if isinstance(value, int):
        # Without a place among the whole numbers it is a number all the same.
        return float(value)
    raise RequestError(
        f"parameter '{name}' has invalid type. It should be either 'int', 'bool', or "
        "'string'."
    )


def identity(document: Json) -> str:
    """Return the id of a request; empty if it has none.

    Raises
    ------
    RequestError
        It is no string.
    """
    if not json_values.has(document, "id"):
        return ""
    with json_values.parsing("id"):
        return json_values.as_string(document["id"])


def parameters_of(document: Json) -> HttpParameters:
    """Return the parameters of an inference request.

    Raises
    ------
    RequestError
        They are no object, or one of them is wrong.

    References
    ----------
    server: src/http_server.cc, ParseJsonTritonParams
    """
    found = HttpParameters()
    if json_values.has(document, "parameters"):
        with json_values.error_prefix("failed to get request params."):
            given = json_values.members(document["parameters"])
        for name in given:
            found.take(name, given)
    return found
