"""Tensors, requests and responses as a debugger shows them among the variables.

Nothing that the model could notice is called: `has_error` would count as its check of
a response, and `as_numpy` would copy a received tensor. Methods are called on Triton's
classes, since those of a model's subclass may do anything.
"""

from __future__ import annotations

from typing import Any

from blsnb.pb_utils.request import InferenceRequest, unsent_message_of
from blsnb.pb_utils.response import InferenceResponse, error_of
from blsnb.pb_utils.tensor import Tensor, state_of
from blsnb.printable import printable, shape_text
from blsnb.tensors.memory import HOST

_SHOWN = 5
"""Number of first values shown of a tensor."""
_MAX_TEXT = 40
"""Maximum number of characters of one value."""
_TYPES = (Tensor, InferenceRequest, InferenceResponse)


class ValueText:
    """Texts of values, in the form of a provider of pydevd."""

    def can_provide(self, type_object: type, type_name: str) -> bool:
        """Whether values of a type have such texts."""
        return issubclass(type_object, _TYPES)

    def get_str(self, value: Any) -> str:
        """Return the text of a value."""
        return described(value)


class ValueParts(ValueText):
    """Parts of values, in the form of a resolver of pydevd."""

    def can_provide(self, type_object: type, type_name: str) -> bool:
        """Whether values of a type have parts."""
        return issubclass(type_object, (InferenceRequest, InferenceResponse))

    def get_dictionary(self, value: Any) -> dict[str, Any]:
        """Return the parts of a value by name."""
        return parts_of(value)

    def resolve(self, value: Any, name: str) -> Any:
        """Return one part of a value."""
        return parts_of(value)[name]


def described(value: Tensor | InferenceRequest | InferenceResponse) -> str:
    """Return a line that describes a value."""
    if isinstance(value, Tensor):
        return _tensor(value)
    if isinstance(value, InferenceRequest):
        fields = unsent_message_of(value).fields
        request_id = f" {fields.request_id!r}" if fields.request_id else ""
        inputs = ", ".join(map(_tensor, InferenceRequest.inputs(value)))
        parameters = (
            f" parameters {dict(fields.parameters)}" if fields.parameters else ""
        )
        return printable(f"request{request_id}{parameters} inputs: {inputs or 'none'}")
    error = error_of(value)
    if error is not None:
        return printable(f"response with error: {error.message()}")
    outputs = ", ".join(map(_tensor, InferenceResponse.output_tensors(value)))
    return f"response outputs: {outputs or 'none'}"


def parts_of(value: InferenceRequest | InferenceResponse) -> dict[str, Any]:
    """Return the parts that a debugger shows below a value."""
    if isinstance(value, InferenceResponse):
        tensors = InferenceResponse.output_tensors(value)
        return {"output_tensors": tensors, "error": error_of(value)}
    message = unsent_message_of(value)
    return {
        "request_id": message.fields.request_id,
        "model_name": message.model_name,
        "inputs": InferenceRequest.inputs(value),
        "parameters": dict(message.fields.parameters),
        "requested_output_names": InferenceRequest.requested_output_names(value),
        "correlation_id": message.fields.correlation_id,
    }


def _tensor(tensor: Tensor) -> str:
    name, dtype, shape, device, array = state_of(tensor)
    head = f"{name!r} {dtype.datatype} {shape_text(shape)}"
    if device != HOST:
        return printable(f"{head} on {device}")
    if array is None:
        return printable(head)
    first = [_short(each) for each in array.flat[:_SHOWN]]
    more = ", …" if array.size > _SHOWN else ""
    return printable(f"{head}: {', '.join(first)}{more}")


def _short(value: Any) -> str:
    text = repr(value) if isinstance(value, (bytes, str)) else str(value)
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"
