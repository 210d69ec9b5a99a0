"""Stand-ins: substitutes for models whose backend is not available."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from blsnb.backends.backend import Backend, BackendInstance, Responses
from blsnb.errors import BackendError, InputError
from blsnb.model.config import InstanceSpec, ModelConfig
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.printable import printable
from blsnb.tensors.convert import to_ref
from blsnb.tensors.dtypes import BY_DATATYPE
from blsnb.tensors.ref import TensorRef

KIND = "stand-in"
"""The device kind of stand-ins in cards, graphs and traces."""
_UNDECLARED = {
    "": "Write inputs and outputs into its config.pbtxt; on Triton they may come from "
    "the model's own file.",
    "vllm": "On Triton vLLM's backend adds them to the configuration; here write those "
    "that you use into its config.pbtxt:\n"
    'input [ { name: "text_input" data_type: TYPE_STRING dims: [ 1 ] },\n'
    '        { name: "stream" data_type: TYPE_BOOL dims: [ 1 ] optional: true },\n'
    '        { name: "sampling_parameters" data_type: TYPE_STRING dims: [ 1 ] '
    "optional: true } ]\n"
    'output [ { name: "text_output" data_type: TYPE_STRING dims: [ -1 ] } ]\n'
    "model_transaction_policy { decoupled: true }",
}
"""Advice for a configuration without outputs, by backend."""
Respond = Callable[[RequestMessage], Iterable[ResponseMessage]]


class StandIn(Backend, Protocol):
    """A backend used instead of the configured one.

    Its tensors have the shapes that clients send and receive, before any reshape.
    """

    @property
    def description(self) -> str:
        """The source of its responses, such as ``"zeros"``."""

    @property
    def arguments(self) -> Mapping[str, Any] | None:
        """Arguments of `make_standin` in another process; None if it cannot travel."""


class FunctionStandIn:
    """A stand-in that responds to each request with a Python function.

    Parameters
    ----------
    description
        The source of its responses.
    make
        Returns an instance's function for a configuration.
    arguments
        What `make_standin` needs to make it in another process; None if it cannot.
    """

    def __init__(
        self,
        description: str,
        make: Callable[[ModelConfig], Respond],
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        self.description = description
        self.arguments = arguments
        self._make = make

    def __repr__(self) -> str:
        return printable(f"<stand-in: {self.description}>")

    def complete(self, config: ModelConfig, version: Path) -> ModelConfig:
        """Return the configuration unchanged."""
        if not config.outputs:
            raise BackendError(
                f"the configuration of '{config.name}' has no outputs for a stand-in",
                "INVALID_ARG",
                _UNDECLARED.get(config.backend, _UNDECLARED[""]),
            )
        return config

    def instance(
        self, config: ModelConfig, spec: InstanceSpec, version: Path
    ) -> BackendInstance:
        """Return a new instance."""
        return _Instance(self._make(config))


class _Instance:
    def __init__(self, respond: Respond) -> None:
        self._respond = respond

    def execute(self, requests: Sequence[RequestMessage]) -> Responses:
        """Respond to each request on its own; an error fails only its request."""
        __tracebackhide__ = True
        return [self._responses(request) for request in requests]

    def _responses(self, request: RequestMessage) -> Iterator[ResponseMessage]:
        __tracebackhide__ = True
        try:
            yield from self._respond(request)
        except BackendError as error:
            yield ResponseMessage(error=error.text, code=error.code, cause=error)

    def finalize(self) -> None:
        """Do nothing: the instance holds no resources."""


def call(function: Callable[[dict[str, Any]], Any]) -> FunctionStandIn:
    """Return a stand-in that calls a function of the user.

    Parameters
    ----------
    function
        Receives a dict of input arrays, which it may change, and returns a dict of
        outputs: arrays, or values of the configured type. For a decoupled model it
        may yield such dicts.
    """
    name = getattr(function, "__name__", type(function).__name__)

    def make(config: ModelConfig) -> Respond:
        def respond(request: RequestMessage) -> Iterator[ResponseMessage]:
            __tracebackhide__ = True
            inputs = {ref.name: ref.view().copy() for ref in request.inputs}
            for outputs in _dicts(name, function(inputs)):
                yield ResponseMessage(_refs(config, name, outputs))

        return respond

    return FunctionStandIn(f"call {name}", make)


def _dicts(name: str, returned: Any) -> Iterable[Mapping[str, Any]]:
    if isinstance(returned, Mapping):
        return (returned,)
    if isinstance(returned, Iterator):
        return returned
    raise BackendError(
        f"the function {name} of a stand-in must return a dict of outputs, not "
        f"{type(returned).__name__}"
    )


def _refs(
    config: ModelConfig, name: str, outputs: Mapping[str, Any]
) -> tuple[TensorRef, ...]:
    specs = {spec.name: spec for spec in config.outputs}
    batch_axes = 1 if config.max_batch_size else 0
    refs = []
    for output, value in outputs.items():
        spec = specs.get(output)
        dtype = None if spec is None else BY_DATATYPE.get(spec.datatype)
        rank = 0 if spec is None else len(spec.dims) + batch_axes
        try:
            refs.append(to_ref(output, value, dtype, rank))
        except InputError as error:
            text = str(error).replace("input", "output", 1)
            raise BackendError(f"the function {name} of a stand-in: {text}") from error
    return tuple(refs)
