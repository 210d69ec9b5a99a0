"""RequestParameters: what goes with a request beside its tensors."""

from __future__ import annotations

from dataclasses import dataclass, field

from blsnb.engine.request.validation import RequestError
from blsnb.serving.core.wire import WireInput, WireOutput, WireRequest

Parameter = bool | int | float | str
RESERVED = "triton_"
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
    """What the parameters of a request say; each protocol reads them in its own way.

    Parameters
    ----------
    custom
        Those that go to the model.
    correlation_id
        The ``sequence_id``.
    timeout_us
        The parameter ``timeout``.
    """

    custom: dict[str, Parameter] = field(default_factory=dict)
    correlation_id: int | str = 0
    sequence_start: bool = False
    sequence_end: bool = False
    priority: int = 0
    timeout_us: int = 0

    def request(
        self,
        model_name: str,
        model_version: int,
        request_id: str,
        inputs: tuple[WireInput, ...],
        outputs: tuple[WireOutput, ...],
    ) -> WireRequest:
        """Return the request that they go with."""
        return WireRequest(
            model_name,
            model_version,
            request_id,
            inputs,
            outputs,
            self.custom,
            self.correlation_id,
            self.sequence_start,
            self.sequence_end,
            self.priority,
            self.timeout_us,
        )
