"""Parameters of a network client's request."""

from __future__ import annotations

from dataclasses import dataclass, field

from blsnb.engine.request.validation import RequestError, check_correlation_id
from blsnb.request_fields import Parameter, RequestFields, received_fields

RESERVED_PREFIX = "triton_"
"""Prefix that names of a model's own parameters must not have."""


def until_nul(text: str) -> str:
    """Return a text up to its first NUL, where a C string ends."""
    return text.partition("\0")[0]


def repeated_input(request_id: str, name: str) -> RequestError:
    """Return the error for two inputs with one name."""
    return RequestError(
        f"[request id: {until_nul(request_id) or '<id_unknown>'}] input '{name}' "
        "already exists in request"
    )


@dataclass(slots=True)
class RequestParameters:
    """The parameters of a request.

    Parameters
    ----------
    custom
        Those that the model receives.
    reserved
        Those that are fields of the request, such as ``sequence_id``.
    protocol_option
        The only option of a protocol: over HTTP, whether outputs are binary; over
        gRPC, whether a final response without outputs is sent.
    """

    custom: dict[str, Parameter] = field(default_factory=dict)
    reserved: dict[str, Parameter] = field(default_factory=dict)
    protocol_option: bool = False

    def reserve(self, name: str, value: Parameter) -> None:
        """Add a parameter that is a field, checked before those that follow it."""
        if name == "sequence_id":
            check_correlation_id(value)
        self.reserved[name] = value

    def fields(self, version: int, request_id: str) -> RequestFields:
        """Return the fields of the request."""
        return received_fields(version, request_id, self.reserved, self.custom)
