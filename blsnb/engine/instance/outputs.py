"""OutputNotes: what Triton lets pass in a response, and a reviewer would not."""

from __future__ import annotations

from collections.abc import Sequence

from blsnb.engine.request.validation import REMEMBERED, fits
from blsnb.model.config import ModelConfig
from blsnb.pb_utils.message import ResponseMessage
from blsnb.tensors.ref import TensorRef


class OutputNotes:
    """Compares responses with a configuration; Triton never does.

    What was once found right is remembered, so that a loop of like responses is
    looked at once.

    References
    ----------
    core: src/infer_response.cc; no check of names, types or shapes is made there
    """

    def __init__(self, config: ModelConfig) -> None:
        self._model = config.name
        batch = (-1,) if config.max_batch_size > 0 else ()
        self._specs = {
            spec.name: (spec.datatype, batch + tuple(spec.reshape or spec.dims))
            for spec in config.outputs
        }
        self._right: set[tuple[object, ...]] = set()
        self._last: tuple[object, ...] = (self,)

    def of(
        self, response: ResponseMessage, requested: tuple[str, ...]
    ) -> Sequence[str]:
        """Return a note for each output that is missing, unknown or not as configured.

        Parameters
        ----------
        requested
            Names of the outputs that were asked for.
        """
        signature: tuple[object, ...] = requested
        for ref in response.outputs:
            signature += (ref.name, ref.dtype, ref.shape)
        # To hash it costs more than to compare it.
        right = signature == self._last or signature in self._right
        if right and not response.dropped:
            self._last = signature
            return ()
        notes = self._found(response, requested)
        if not notes and len(self._right) < REMEMBERED:
            self._right.add(signature)
        return notes

    def _found(
        self, response: ResponseMessage, requested: tuple[str, ...]
    ) -> list[str]:
        outputs = response.outputs
        notes = self._unknown(response.dropped) + self._missing(outputs, requested)
        for ref in outputs:
            notes += self._contradictions(ref)
        return notes

    def _unknown(self, dropped: tuple[str, ...]) -> list[str]:
        known = ", ".join(self._specs) or "none"
        return [
            f"{self._model} returned an output {name!r} that its configuration does "
            f"not have; Triton drops it without a word. Its outputs are: {known}."
            for name in dropped
            if name not in self._specs
        ]

    def _missing(
        self, outputs: tuple[TensorRef, ...], requested: tuple[str, ...]
    ) -> list[str]:
        given = {ref.name for ref in outputs}
        return [
            f"{self._model} was asked for output {name!r} and did not return it; its "
            "caller gets a success without it, as on Triton."
            for name in requested
            if name not in given
        ]

    def _contradictions(self, ref: TensorRef) -> list[str]:
        datatype, shape = self._specs[ref.name]
        notes = []
        if ref.dtype.datatype != datatype:
            notes.append(
                f"{self._model} returned output {ref.name!r} as {ref.dtype.datatype}, "
                f"its configuration says {datatype}; Triton passes it on as it is, and "
                "the next model may refuse it."
            )
        if not fits(ref.shape, shape):
            notes.append(
                f"{self._model} returned output {ref.name!r} with shape "
                f"{list(ref.shape)}, its configuration says {list(shape)}; Triton "
                "passes it on as it is, and the next model may refuse it."
            )
        return notes
