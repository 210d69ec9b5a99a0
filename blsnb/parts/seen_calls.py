"""The calls of a model in a trace, as far as their tensors go."""

from __future__ import annotations

from collections.abc import Iterator

from blsnb.model.implied import SeenCall, SeenTensor
from blsnb.tensors.ref import TensorRef
from blsnb.trace.spans import Span, Trace


def seen_calls(trace: Trace, name: str) -> Iterator[SeenCall]:
    """Yield the tensors of each call of a model."""
    for span in trace.spans:
        if trace.models[span.model].name == name:
            inputs = tuple(map(_seen, span.inputs))
            yield SeenCall(inputs, tuple(map(_seen, _outputs(span))))


def _outputs(span: Span) -> Iterator[TensorRef]:
    """Yield the outputs of all the answers to a call."""
    yield from span.outputs
    for response in span.responses:
        yield from response.outputs


def _seen(ref: TensorRef) -> SeenTensor:
    return SeenTensor(ref.name, ref.dtype.data_type, tuple(ref.shape))
