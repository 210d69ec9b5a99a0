"""Requests and responses as plain values: what crosses between model and engine."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from blsnb.request_fields import PLAIN, Parameters, RequestFields
from blsnb.tensors.ref import TensorRef


@dataclass(slots=True, eq=False, repr=False)
class RequestMessage:
    """A request to a model."""

    model_name: str
    inputs: tuple[TensorRef, ...]
    """Frozen tensors, in the order given."""
    requested_outputs: tuple[str, ...] = ()
    """Names in the order given; empty for all outputs."""
    fields: RequestFields = PLAIN
    """The other fields of the request."""
    trace: Any = None
    """Content of ``InferenceTrace``: the engine's own mark of the caller."""
    memory: str | None = None
    """Device for the outputs, such as ``"cpu"``; None to leave them where they are."""
    raw: bool = False
    """Whether the inputs' bytes are a network client's, and not checked yet."""

    def forwarded(
        self, inputs: tuple[TensorRef, ...], requested: tuple[str, ...]
    ) -> RequestMessage:
        """Return what a model sends that executes the request it received.

        As on Triton, the priority is not part of it.
        """
        fields = self.fields._replace(priority=0)
        return RequestMessage(self.model_name, inputs, requested, fields)

    def with_fields(self, **changed: Any) -> RequestMessage:
        """Return the same request with some other fields."""
        message = copy.copy(self)
        message.fields = self.fields._replace(**changed)
        return message


@dataclass(slots=True, eq=False, repr=False)
class ResponseMessage:
    """A response of a model."""

    outputs: tuple[TensorRef, ...] = ()
    """Frozen tensors, in the order the model gave them."""
    error: str | None = None
    code: str = "INTERNAL"
    """Triton's name of the error's code."""
    parameters: Parameters = field(default_factory=dict)
    cause: BaseException | None = None
    """The exception behind the error, for debuggers and tracebacks only."""
    final: bool = True
    """Whether it carries the final flag."""
    followed: str = ""
    """The error that follows it, of a model that may send one response only."""
    dropped: tuple[str, ...] = ()
    """Names of outputs that were not requested, and are not sent."""
    missed: bool = False
    """Whether the response cache was searched for it in vain."""

    def take_cause(self) -> BaseException | None:
        """Return the exception behind the error, and forget it.

        Its frames refer to this response. Left in place, arrays of a model that failed,
        which may fill a GPU, would wait for a garbage collection.
        """
        cause, self.cause = self.cause, None
        return cause
