"""Parameters of a network client's request."""

from __future__ import annotations

from dataclasses import dataclass, field

from blsnb.engine.request.validation import RequestError
from blsnb.request_fields import Parameter, RequestFields, received_fields

RESERVED_PREFIX = "triton_"
"""Names of a model's own parameters do not begin so."""
_LONGEST_ID = 128


def until_nul(text: str) -> str:
    """Return a text as far as a C string goes, as Triton hands it on."""
    return text.partition("\0")[0]


def check_correlation_id(found: int | str) -> None:
    """Refuse a correlation id that is too long.

    Raises
    ------
    RequestError
        It has more bytes than there is room for.

    References
    ----------
    core: src/infer_request.h, SequenceId
    """
    if isinstance(found, str) and len(found.encode()) > _LONGEST_ID:
        raise RequestError(
            f"string correlation ID cannot be longer than {_LONGEST_ID} characters",
            "UNSUPPORTED",
        )


def named_twice(request_id: str, name: str) -> RequestError:
    """Return the refusal of a request that has two inputs of a name."""
    return RequestError(
        f"[request id: {request_id or '<id_unknown>'}] input '{name}' already exists "
        "in request"
    )


@dataclass(slots=True)
class RequestParameters:
    """The parameters of a request; each protocol reads them in its own way.

    Parameters
    ----------
    custom
        Those that the model receives.
    reserved
        Those that are fields of the request, such as ``sequence_id``.
    """

    custom: dict[str, Parameter] = field(default_factory=dict)
    reserved: dict[str, Parameter] = field(default_factory=dict)

    def fields(self, version: int, request_id: str) -> RequestFields:
        """Return the fields of the request.

        Raises
        ------
        RequestError
            The correlation id is too long.
        """
        fields = received_fields(version, request_id, self.reserved, self.custom)
        check_correlation_id(fields.correlation_id)
        return fields
