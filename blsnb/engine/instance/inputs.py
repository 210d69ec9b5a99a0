"""Reshapes of a configuration: the model's shapes inside, the client's outside."""

from __future__ import annotations

from collections.abc import Sequence

from blsnb.model.config import ModelConfig, TensorSpec
from blsnb.tensors.dtypes import Shape
from blsnb.tensors.ref import TensorRef


class Reshapes:
    """Gives a model's inputs and outputs the shape of the other side.

    References
    ----------
    core: src/infer_request.cc, InferenceRequest::Normalize;
    src/infer_response.cc, InferenceResponse::Output::Reshape
    """

    def __init__(self, config: ModelConfig) -> None:
        self._batch_axes = 1 if config.max_batch_size > 0 else 0
        self._inward = _table(config.inputs)
        self._outward = {
            name: (inside, outside)
            for name, (outside, inside) in _table(config.outputs).items()
        }
        self.any = bool(self._inward or self._outward)
        """Whether there is anything to do."""

    def inward(self, refs: tuple[TensorRef, ...]) -> tuple[TensorRef, ...]:
        """Return inputs as the model sees them."""
        return tuple(self._turn(ref, self._inward) for ref in refs)

    def outward(self, refs: tuple[TensorRef, ...]) -> tuple[TensorRef, ...]:
        """Return outputs as the client sees them."""
        return tuple(self._turn(ref, self._outward) for ref in refs)

    def _turn(self, ref: TensorRef, table: dict[str, tuple[Shape, Shape]]) -> TensorRef:
        if ref.name not in table:
            return ref
        before, after = table[ref.name]
        batch = ref.shape[: self._batch_axes]
        shape = ref.shape[self._batch_axes :]
        varying = [
            have for want, have in zip(before, shape, strict=False) if want == -1
        ]
        turned = tuple(varying.pop(0) if n == -1 and varying else n for n in after)
        return ref.alias(ref.name, batch + turned)


def undone(config: ModelConfig) -> Reshapes:
    """Return what turns a model's shapes back into those that clients see."""
    message = config.message
    for spec in (*message.input, *message.output):
        if spec.HasField("reshape"):
            outside, inside = list(spec.dims), list(spec.reshape.shape)
            spec.dims[:], spec.reshape.shape[:] = inside, outside
    return Reshapes(ModelConfig.of(message))


def _table(specs: Sequence[TensorSpec]) -> dict[str, tuple[Shape, Shape]]:
    return {
        spec.name: (tuple(spec.dims), tuple(spec.reshape))
        for spec in specs
        if spec.reshape is not None
    }
