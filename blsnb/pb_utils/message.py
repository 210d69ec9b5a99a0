"""Requests and responses as plain values: what crosses between model and engine."""

from __future__ import annotations

import copy
from typing import Any

from blsnb.request_fields import PLAIN, Parameters, RequestFields
from blsnb.tensors.ref import TensorRef


class RequestMessage:
    """A request to a model.

    Parameters
    ----------
    model_name
        The model.
    inputs
        Frozen tensors, in the order given.
    requested_outputs
        Names in the order given; empty for all outputs.
    fields
        What the request says besides.
    trace
        What ``InferenceTrace`` holds: the engine's own mark of the caller.
    memory
        Where the outputs are wanted, such as ``"cpu"``; None for where they are.
    """

    __slots__ = (
        "fields",
        "inputs",
        "memory",
        "model_name",
        "raw",
        "requested_outputs",
        "trace",
    )

    def __init__(
        self,
        model_name: str,
        inputs: tuple[TensorRef, ...],
        requested_outputs: tuple[str, ...] = (),
        fields: RequestFields = PLAIN,
        trace: Any = None,
        memory: str | None = None,
    ) -> None:
        self.model_name = model_name
        self.inputs = inputs
        self.requested_outputs = requested_outputs
        self.fields = fields
        self.raw = False
        """Whether the inputs' bytes are a network client's, and not checked yet."""
        self.trace = trace
        self.memory = memory

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


class ResponseMessage:
    """A response of a model.

    Parameters
    ----------
    outputs
        Frozen tensors, in the order the model gave them.
    error
        The error's text, or None.
    code
        Triton's name of the error's code.
    cause
        The exception behind the error, for debuggers and tracebacks only.
    """

    __slots__ = (
        "cause",
        "code",
        "dropped",
        "error",
        "final",
        "followed",
        "outputs",
        "parameters",
    )

    def __init__(
        self,
        outputs: tuple[TensorRef, ...] = (),
        error: str | None = None,
        code: str = "INTERNAL",
        parameters: Parameters | None = None,
        cause: BaseException | None = None,
    ) -> None:
        self.outputs = outputs
        self.error = error
        self.code = code
        self.parameters: Parameters = parameters or {}
        self.cause = cause
        self.final = True
        """Whether it carries the final flag."""
        self.followed = ""
        """The error that follows it, of a model that may send one response only."""
        self.dropped: tuple[str, ...] = ()
        """Names of outputs that were not requested, and are not sent."""
