"""InputOrder: in which order a model meets the inputs of its requests."""

from __future__ import annotations

from blsnb.model.rules.hash_order import hash_order
from blsnb.tensors.ref import TensorRef

_REMEMBERED = 512

Inputs = tuple[TensorRef, ...]


class InputOrder:
    """Orders inputs as Triton does, which keeps them in hash tables.

    Those of the client go through two of them, and what the scheduler gives the model
    besides comes to the second one. What was once found is remembered by the names.

    References
    ----------
    core: src/infer_request.cc, InferenceRequest::PrepareForInference
    """

    def __init__(self) -> None:
        self._known: dict[tuple[tuple[str, ...], int], tuple[int, ...]] = {}

    def of(self, inputs: Inputs, extra: Inputs = ()) -> Inputs:
        """Return the inputs of a client and those of the scheduler, which win."""
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
