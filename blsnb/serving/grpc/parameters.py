"""Parameters of a gRPC request: which it may have, and of which types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from blsnb.engine.request.validation import RequestError
from blsnb.request_fields import Parameter
from blsnb.serving.core.parameters import RESERVED_PREFIX, RequestParameters, until_nul

_UNSIGNED = 2**64
_EMPTY_FINAL = "triton_enable_empty_final_response"
_CUSTOM = ("bool_param", "int64_param", "string_param", "double_param")


@dataclass(slots=True)
class GrpcParameters(RequestParameters):
    """What the parameters of a request say.

    Parameters
    ----------
    empty_final
        Whether the client wants to be sent a final flag that comes alone.
    """

    empty_final: bool = False

    def take(self, name: str, given: Any) -> None:
        """Take a parameter.

        Raises
        ------
        RequestError
            It is of another type, or reserved; the text is Triton's.
        """
        if name in _READ:
            self.reserved[name] = _READ[name](given, name)
        elif name == _EMPTY_FINAL:
            self.empty_final = value_of(given, name, "bool_param")
        else:
            self.custom[until_nul(name)] = _custom(name, given)


def parameters_of(given: Any) -> GrpcParameters:
    """Return what a request's parameters say.

    Raises
    ------
    RequestError
        One is of another type, or reserved.

    References
    ----------
    server: src/grpc/infer_handler.h, SetInferenceRequestMetadata
    """
    found = GrpcParameters()
    for name, value in given.items():
        found.take(name, value)
    return found


def value_of(given: Any, name: str, *kinds: str) -> Any:
    """Return a parameter's value, which must be of one of these kinds.

    Raises
    ------
    RequestError
        It is of another.
    """
    kind = given.WhichOneof("parameter_choice")
    if kind not in kinds:
        wanted = " or ".join(kinds)
        raise RequestError(
            f"invalid value type for '{name}' parameter, expected {wanted}."
        )
    return getattr(given, kind)


def _correlation_id(given: Any, name: str) -> int | str:
    found = value_of(given, name, "int64_param", "string_param")
    return found % _UNSIGNED if isinstance(found, int) else until_nul(found)


def _flag(given: Any, name: str) -> bool:
    return bool(value_of(given, name, "bool_param"))


def _priority(given: Any, name: str) -> int:
    found = int(value_of(given, name, "int64_param", "uint64_param"))
    if found < 0:
        raise RequestError("invalid value for 'priority', expected value >= 0.")
    return found


def _timeout(given: Any, name: str) -> int:
    return int(value_of(given, name, "int64_param")) % _UNSIGNED


_READ: dict[str, Callable[[Any, str], Parameter]] = {
    "sequence_id": _correlation_id,
    "sequence_start": _flag,
    "sequence_end": _flag,
    "priority": _priority,
    "timeout": _timeout,
}
"""How the parameters that are fields of the request are read."""


def _custom(name: str, given: Any) -> Any:
    if name.startswith(RESERVED_PREFIX):
        raise RequestError(
            f"parameter keys starting with '{RESERVED_PREFIX}' are reserved for Triton "
            "usage. Only the following keys starting with 'triton_' are allowed: "
            f"{_EMPTY_FINAL}"
        )
    kind = given.WhichOneof("parameter_choice")
    if kind not in _CUSTOM:
        # Doubles are taken, too; the text does not say so.
        raise RequestError(
            f"invalid value type for '{name}' parameter, expected int64_param, "
            "bool_param, or string_param."
        )
    found = getattr(given, kind)
    return until_nul(found) if isinstance(found, str) else found
