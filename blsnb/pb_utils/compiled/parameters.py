"""Check the parameters of requests and responses, a dict of str to bool, int or str."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from blsnb.pb_utils.compiled.errors import TritonModelException
from blsnb.pb_utils.compiled.json_text import text_of
from blsnb.request_fields import Parameter, Parameters

UNSUPPORTED = "Unsupported value type on parameters"
_INT64 = 2**63


def checked(value: Any) -> Parameters:
    """Return a copy of a constructor's parameters.

    Raises
    ------
    TritonModelException
        The value is not a dict, or a key or a value has another type.

    References
    ----------
    python_backend: src/pb_stub_utils.cc, PyParametersToJSON
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TritonModelException(f"Expect N8pybind114dictE, got {type(value)}")
    for key, item in value.items():
        if not isinstance(key, str):
            raise TritonModelException(
                f"Expect parameters keys to have type str, found type {type(key)}"
            )
        if not isinstance(item, bool | int | str):
            raise TritonModelException(
                "Expect parameters values to have type bool/int/str, found type "
                f"{type(item)}"
            )
    return dict(value)


def are_int64(parameters: Iterable[tuple[str, Parameter]]) -> bool:
    """Whether every integer fits the server's 64 bits."""
    return all(
        -_INT64 <= value < _INT64 for _, value in parameters if isinstance(value, int)
    )


def as_text(parameters: Parameters, received: bool) -> str:
    """Return the JSON text, in the form of Triton's writer if the server wrote it."""
    if received:
        return text_of(parameters)
    return json.dumps(parameters)
