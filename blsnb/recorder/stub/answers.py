"""Responses of the Python backend as parts of recorded calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blsnb.recorder.stub.executions import (
    DECOUPLED,
    RecordedResponse,
    error_text,
    parameter_rows,
)
from blsnb.recorder.stub.tensor_rows import tensor_rows

if TYPE_CHECKING:
    from blsnb.recorder.stub.executions import RecordedCall
    from blsnb.recorder.stub.settings import RecorderSettings


def take_response(
    call: RecordedCall, response: Any, settings: RecorderSettings
) -> None:
    """Record the only response of a call."""
    if response.has_error():
        _fail(call, response, settings)
        return
    # The backend removes outputs that were not requested.
    outputs = [
        tensor
        for tensor in response.output_tensors()
        if not call.requested or tensor.name() in call.requested
    ]
    call.outputs = tensor_rows(outputs, settings)
    parameters = _parameters(response, settings)
    if parameters:
        call.fields["response_parameters"] = parameters


def add_response(call: RecordedCall, response: Any, settings: RecorderSettings) -> None:
    """Record one of the responses of a decoupled call."""
    error, outputs = "", []
    if response.has_error():
        error = _fail(call, response, settings)
    else:
        outputs = tensor_rows(response.output_tensors(), settings)
    sent = RecordedResponse(len(call.responses), outputs, error)
    sent.parameters = _parameters(response, settings)
    call.flags |= DECOUPLED
    call.responses.append(sent)


def _parameters(response: Any, settings: RecorderSettings) -> list[list[Any]]:
    """Return the parameters of a response; releases before 25.02 have none."""
    if not hasattr(response, "parameters"):
        return []
    return parameter_rows(response.parameters(), settings)


def _fail(call: RecordedCall, response: Any, settings: RecorderSettings) -> str:
    """Note the error of a response, the first one of a call; return its text."""
    error = response.error()
    code = getattr(error, "code", None)
    text = error_text(error.message(), call.model, settings)
    if not call.error:
        call.fail(text, "" if code is None else code().name)
    return text


def add_empty_response(call: RecordedCall) -> None:
    """Record that a model ended its responses without a further one."""
    call.flags |= DECOUPLED
    call.responses.append(RecordedResponse(len(call.responses), [], ""))
