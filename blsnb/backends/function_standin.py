"""A stand-in that asks a function of the user's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from blsnb.backends.standin import Answer, Answering
from blsnb.errors import BackendError, InputError
from blsnb.model.config import ModelConfig
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.tensors.convert import to_ref
from blsnb.tensors.dtypes import BY_DATATYPE
from blsnb.tensors.ref import TensorRef


def call(function: Callable[[dict[str, Any]], Any]) -> Answering:
    """Return a stand-in that asks a function.

    Parameters
    ----------
    function
        Gets a dict of the inputs, as arrays of its own, and returns a dict of
        outputs: arrays, or what takes the configured type. For a decoupled model it
        may yield such dicts.
    """
    name = getattr(function, "__name__", type(function).__name__)

    def make(config: ModelConfig) -> Answer:
        def answer(request: RequestMessage) -> Iterator[ResponseMessage]:
            __tracebackhide__ = True
            inputs = {ref.name: ref.view().copy() for ref in request.inputs}
            for outputs in _listed(name, function(inputs)):
                yield ResponseMessage(_refs(config, name, outputs))

        return answer

    return Answering(f"call {name}", make)


def _listed(name: str, returned: Any) -> Iterable[Mapping[str, Any]]:
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
