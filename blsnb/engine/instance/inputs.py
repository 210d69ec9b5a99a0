"""Inputs as a model receives them: their order and ``reshape``."""

from __future__ import annotations

from collections.abc import Sequence

from blsnb.model.config import ModelConfig, TensorSpec
from blsnb.model.rules.hash_order import hash_order
from blsnb.tensors.dtypes import Shape
from blsnb.tensors.ref import TensorRef


class Reshapes:
    """Converts tensors between the configured ``dims`` and ``reshape``.

    References
    ----------
    core: src/infer_request.cc, InferenceRequest::Normalize;
    src/infer_response.cc, InferenceResponse::Output::Reshape
    """

    def __init__(self, config: ModelConfig) -> None:
        self._batch_axes = 1 if config.max_batch_size > 0 else 0
        self._inputs = _table(config.inputs)
        self._outputs = {
            name: (inside, outside)
            for name, (outside, inside) in _table(config.outputs).items()
        }
        self.any = bool(self._inputs or self._outputs)
        """Whether any tensor has a ``reshape``."""

    def to_model(self, refs: tuple[TensorRef, ...]) -> tuple[TensorRef, ...]:
        """Return inputs with the shapes that the model receives."""
        return tuple(self._reshaped(ref, self._inputs) for ref in refs)

    def to_client(self, refs: tuple[TensorRef, ...]) -> tuple[TensorRef, ...]:
        """Return outputs with the shapes that clients see."""
        return tuple(self._reshaped(ref, self._outputs) for ref in refs)

    def _reshaped(
        self, ref: TensorRef, table: dict[str, tuple[Shape, Shape]]
    ) -> TensorRef:
        if ref.name not in table:
            return ref
        before, after = table[ref.name]
        batch = ref.shape[: self._batch_axes]
        shape = ref.shape[self._batch_axes :]
        varying = [
            have for want, have in zip(before, shape, strict=False) if want == -1
        ]
        reshaped = tuple(varying.pop(0) if n == -1 and varying else n for n in after)
        return ref.alias(ref.name, batch + reshaped)


def inverse_reshapes(config: ModelConfig) -> Reshapes:
    """Return the inverse conversion: from a model's shapes to the client's."""
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


_REMEMBERED = 512

Inputs = tuple[TensorRef, ...]


class InputOrder:
    """Orders inputs as Triton does, which keeps them in hash tables.

    Inputs of the client pass through two tables; inputs that the scheduler adds enter
    the second one. The order is cached by the names.

    References
    ----------
    core: src/infer_request.cc, InferenceRequest::PrepareForInference
    """

    def __init__(self) -> None:
        self._known: dict[tuple[tuple[str, ...], int], tuple[int, ...]] = {}

    def of(self, inputs: Inputs, extra: Inputs = ()) -> Inputs:
        """Return the inputs; the scheduler's take precedence over the client's."""
        if extra:
            names = {ref.name for ref in extra}
            inputs = tuple([ref for ref in inputs if ref.name not in names])
        everything = inputs + extra
        key = (tuple([ref.name for ref in everything]), len(inputs))
        places = self._known.get(key)
        if places is None:
            places = self._found(*key)
        return tuple([everything[place] for place in places])

    def _found(self, names: tuple[str, ...], count: int) -> tuple[int, ...]:
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        order = hash_order([*hash_order(names[:count]), *names[count:]])
        places = tuple(map(names.index, order))
        self._known[names, count] = places
        return places
