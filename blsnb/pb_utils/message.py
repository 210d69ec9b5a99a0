"""Requests and responses as plain values: what crosses between model and engine."""

from __future__ import annotations

import copy
from typing import Any

from blsnb.request_fields import Parameters
from blsnb.tensors.ref import TensorRef


class RequestMessage:
    """A request on its way to a model.

    Parameters
    ----------
    model_name, model_version
        The target; version -1 leaves the choice to the server.
    inputs
        Frozen tensors, in the order given.
    requested_outputs
        Names in the order given; empty means all of them.
    """

    __slots__ = (
        "correlation_id",
        "flags",
        "inputs",
        "memory",
        "model_name",
        "model_version",
        "parameters",
        "plain",
        "priority",
        "raw",
        "request_id",
        "requested_outputs",
        "timeout_us",
        "trace",
    )

    def __init__(
        self,
        model_name: str,
        inputs: tuple[TensorRef, ...],
        requested_outputs: tuple[str, ...] = (),
        model_version: int = -1,
        request_id: str = "",
        correlation_id: int | str = 0,
        flags: int = 0,
        timeout_us: int = 0,
        priority: int = 0,
        parameters: Parameters | None = None,
        trace: Any = None,
        memory: str | None = None,
    ) -> None:
        self.model_name = model_name
        self.inputs = inputs
        self.requested_outputs = requested_outputs
        self.model_version = model_version
        self.request_id = request_id
        self.correlation_id = correlation_id
        self.flags = flags
        self.timeout_us = timeout_us
        self.priority = priority
        self.parameters: Parameters = {} if parameters is None else parameters
        self.raw = False
        """Whether the inputs' bytes came from outside, unchecked."""
        self.trace = trace
        """What ``InferenceTrace`` holds: the engine's own mark of the caller."""
        self.memory = memory
        """Where the outputs are wanted, such as ``"cpu"``; None for where they are."""
        self.plain = model_version == -1 and not (
            parameters or flags or correlation_id or timeout_us or priority
        )
        """Whether it is sure to say nothing but its model, inputs, outputs and id."""

    def passed_on(
        self, inputs: tuple[TensorRef, ...], requested: tuple[str, ...]
    ) -> RequestMessage:
        """Return what a receiver sends that sends the same request itself."""
        return RequestMessage(
            self.model_name,
            inputs,
            requested,
            self.model_version,
            self.request_id,
            self.correlation_id,
            self.flags,
            self.timeout_us,
            parameters=self.parameters,
        )

    def in_sequence(self, correlation_id: int | str, flags: int) -> RequestMessage:
        """Return the same request with other facts of its sequence."""
        again = copy.copy(self)
        again.correlation_id = correlation_id
        again.flags = flags
        again.plain = False
        return again


class ResponseMessage:
    """A response on its way back.

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
        self.dropped: tuple[str, ...] = ()
        """Names of outputs that nobody asked for: they are not sent."""
