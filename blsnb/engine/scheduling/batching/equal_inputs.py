"""Which requests may share a batch: those whose inputs are alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from blsnb.engine.scheduling.batching.queued import Queued
from blsnb.engine.scheduling.batching.reason import Cause, Reason
from blsnb.model.config import ModelConfig


@dataclass(frozen=True, slots=True)
class EqualInputs:
    """What all requests of a batch have in common.

    Parameters
    ----------
    names
        Inputs of one shape in all of a batch: those that vary and are not ragged.
    same_set
        Whether all of a batch have the same inputs: the model has optional ones.

    References
    ----------
    core: src/backend_model.cc, SetConfiguredScheduler; src/scheduler_utils.cc,
    RequiredEqualInputs
    """

    names: frozenset[str]
    same_set: bool

    @classmethod
    def of(cls, config: ModelConfig) -> EqualInputs:
        """Return what a model requires."""
        return cls(
            frozenset(
                tensor.name
                for tensor in config.inputs
                if -1 in tensor.dims and not tensor.allow_ragged_batch
            ),
            any(tensor.optional for tensor in config.inputs),
        )

    def difference(self, first: Queued[Any], other: Queued[Any]) -> Reason | None:
        """Return why a request cannot follow the first of a batch; None if it can."""
        if self.same_set and first.shapes.keys() != other.shapes.keys():
            words = f"has other inputs: {_names(other)} instead of {_names(first)}"
            return Reason(Cause.OTHER_INPUTS, words)
        for name in sorted(self.names & first.shapes.keys() & other.shapes.keys()):
            wanted, found = first.shapes[name], other.shapes[name]
            if tuple(wanted) != tuple(found):
                shapes = f"{list(found)} instead of {list(wanted)}"
                words = f"shape of {name} differs: {shapes}"
                return Reason(Cause.SHAPE_DIFFERS, words)
        return None


def _names(queued: Queued[Any]) -> str:
    return ", ".join(sorted(queued.shapes)) or "none"
