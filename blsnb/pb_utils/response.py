"""The outputs of a request, or its error."""

from __future__ import annotations

from collections.abc import Sequence
from types import NoneType

from blsnb.pb_utils.compiled.compiled_type import Compiled
from blsnb.pb_utils.compiled.enums import ErrorCode
from blsnb.pb_utils.compiled.errors import CODE_NAMES, TritonError, TritonModelException
from blsnb.pb_utils.compiled.parameters import UNSUPPORTED, are_int64, as_text, checked
from blsnb.pb_utils.compiled.signature import compiled, expect, list_of
from blsnb.pb_utils.message import ResponseMessage
from blsnb.pb_utils.tensor import Tensor, receive, transmit_some
from blsnb.request_fields import Parameters

_new = object.__new__
_ELEMENTS = (Tensor, NoneType)
_EMPTY_TENSOR = "Output tensor for inference response should not be empty."


class InferenceResponse(Compiled):
    """The response to a request.

    Parameters
    ----------
    output_tensors
        `Tensor` objects, in a list or another sequence.
    error
        Replaces the outputs for the receiver.
    parameters
        Dict of str to bool, int or str; from 25.02 on.

    Raises
    ------
    TypeError
        An argument is of another type; None is no list.
    TritonModelException
        An element is None.

    References
    ----------
    python_backend: src/infer_response.cc, InferResponse::InferResponse
    """

    __slots__ = ("_asked", "_error", "_parameters", "_received", "_tensors")
    _received: bool
    _asked: bool
    """Whether ``has_error`` was called."""

    @compiled(
        "c_python_backend_utils.InferenceResponse(output_tensors: "
        "List[c_python_backend_utils.Tensor] = [], "
        "error: c_python_backend_utils.TritonError = None, parameters: object = None)"
    )
    def __init__(
        self,
        output_tensors: Sequence[Tensor] = (),
        error: TritonError | None = None,
        parameters: dict[str, bool | int | str] | None = None,
    ) -> None:
        if error is not None:
            expect(error, TritonError)
        self._tensors = tensors = list_of(output_tensors, _ELEMENTS)
        if None in tensors:
            raise TritonModelException(_EMPTY_TENSOR)
        self._error = error
        self._parameters: Parameters = {} if parameters is None else checked(parameters)
        self._received = False

    @compiled(
        "output_tensors(self: c_python_backend_utils.InferenceResponse) -> "
        "List[c_python_backend_utils.Tensor]"
    )
    def output_tensors(self) -> list[Tensor]:
        """Return the outputs, as a new list of the same tensors."""
        return list(self._tensors)

    @compiled("has_error(self: c_python_backend_utils.InferenceResponse) -> bool")
    def has_error(self) -> bool:
        """Whether the request failed."""
        self._asked = True
        return self._error is not None

    @compiled(
        "error(self: c_python_backend_utils.InferenceResponse) -> "
        "c_python_backend_utils.TritonError"
    )
    def error(self) -> TritonError | None:
        """Return the error, or None."""
        self._asked = True
        return self._error

    @compiled("parameters(self: c_python_backend_utils.InferenceResponse) -> str")
    def parameters(self) -> str:
        """Return the parameters as JSON text; from 25.02 on."""
        return as_text(self._parameters, self._received)


def send(response: InferenceResponse, requested: tuple[str, ...]) -> ResponseMessage:
    """Freeze a response for its receiver.

    Outputs that were not requested leave the response object itself, as on
    Triton (python_backend: src/infer_response.cc, PruneOutputTensors).
    """
    if response._error is not None:
        # A response that is passed on is checked by its receiver.
        response._asked = True
        error = response._error
        return ResponseMessage(error=error.message(), code=error.code().name)
    given = response._tensors
    response._tensors, refs = transmit_some(given, requested)
    message = ResponseMessage(refs)
    if response._parameters:
        if not are_int64(response._parameters.items()):
            return ResponseMessage(error=UNSUPPORTED, code="INVALID_ARG")
        # The dictionary of the model: not to be changed.
        message.parameters = response._parameters
    if len(refs) != len(given):
        names = [tensor.name() for tensor in given]
        message.dropped = tuple(name for name in names if name not in requested)
    return message


def receive_response(
    kind: type[InferenceResponse], message: ResponseMessage
) -> InferenceResponse:
    """Return the response object for a BLS caller.

    Parameters
    ----------
    kind
        Class of the followed release.
    """
    response: InferenceResponse = _new(kind)
    response._tensors = tensors = []
    for ref in message.outputs:
        tensors.append(receive(ref))
    response._error = None
    response._parameters = message.parameters
    response._received = True
    response._asked = False
    if message.error is not None:
        code = ErrorCode(CODE_NAMES.index(message.code))
        response._error = TritonError(message.error, code)
    return response


def is_unasked(response: InferenceResponse) -> bool:
    """Whether the model never checked a received response for an error."""
    return not response._asked


def error_of(response: InferenceResponse) -> TritonError | None:
    """Return the error of a response, which does not count as the model's check."""
    return response._error
