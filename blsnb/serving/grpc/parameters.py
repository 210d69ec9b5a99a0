"""Parameters of a gRPC request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from blsnb.engine.request.validation import RequestError
from blsnb.request_fields import Parameter
from blsnb.serving.core.parameters import RESERVED_PREFIX, RequestParameters, until_nul

_UNSIGNED = 2**64
_EMPTY_FINAL = "triton_enable_empty_final_response"
_CUSTOM = ("bool_param", "int64_param", "string_param", "double_param")


def parameters_of(parameters: Any) -> RequestParameters:
    """Return the parameters of an inference request.

    References
    ----------
    server: src/grpc/infer_handler.h, SetInferenceRequestMetadata
    """
    found = RequestParameters()
    for name, value in parameters.items():
        if name in _READERS:
            found.reserve(name, _READERS[name](value, name))
        elif name == _EMPTY_FINAL:
            found.protocol_option = flag(value, name)
        else:
            found.custom[until_nul(name)] = _custom(name, value)
    return found


def _value(parameter: Any, name: str, *kinds: str) -> Any:
    """Return the value of a parameter that must have one of some types."""
    kind = parameter.WhichOneof("parameter_choice")
    if kind not in kinds:
        expected = " or ".join(kinds)
        raise RequestError(
            f"invalid value type for '{name}' parameter, expected {expected}."
        )
    return getattr(parameter, kind)


def _correlation_id(parameter: Any, name: str) -> int | str:
    value = _value(parameter, name, "int64_param", "string_param")
    return value % _UNSIGNED if isinstance(value, int) else until_nul(value)


def flag(parameter: Any, name: str) -> bool:
    """Return the value of a parameter that must be a boolean."""
    return bool(_value(parameter, name, "bool_param"))


def _priority(parameter: Any, name: str) -> int:
    value = int(_value(parameter, name, "int64_param", "uint64_param"))
    if value < 0:
        raise RequestError("invalid value for 'priority', expected value >= 0.")
    return value


def _timeout(parameter: Any, name: str) -> int:
    return int(_value(parameter, name, "int64_param")) % _UNSIGNED


_READERS: dict[str, Callable[[Any, str], Parameter]] = {
    "sequence_id": _correlation_id,
    "sequence_start": flag,
    "sequence_end": flag,
    "priority": _priority,
    "timeout": _timeout,
}
"""Readers of the parameters that are fields of the request."""


def _custom(name: str, parameter: Any) -> Any:
    if name.startswith(RESERVED_PREFIX):
        raise RequestError(
            f"parameter keys starting with '{RESERVED_PREFIX}' are reserved for Triton "
            "usage. Only the following keys starting with 'triton_' are allowed: "
            f"{_EMPTY_FINAL}"
        )
    kind = parameter.WhichOneof("parameter_choice")
    if kind not in _CUSTOM:
        # Triton's text omits doubles, which are accepted.
        raise RequestError(
            f"invalid value type for '{name}' parameter, expected int64_param, "
            "bool_param, or string_param."
        )
    value = getattr(parameter, kind)
    return until_nul(value) if isinstance(value, str) else value
