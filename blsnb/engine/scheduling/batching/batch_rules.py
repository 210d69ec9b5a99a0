"""When a batch is large enough, and when it has waited for long enough."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from blsnb.engine.scheduling.batching.batch import Cause, Queued, Reason
from blsnb.engine.scheduling.batching.policy_queue import US
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


@dataclass(frozen=True, slots=True)
class BatchRules:
    """The settings by which batches are formed.

    Parameters
    ----------
    max_size
        The most that one batch may hold; 1 where the model does not batch.
    preferred
        The preferred sizes, in order.
    delay_ns
        How long a request may wait for a preferred size; 0 for not at all.
    """

    max_size: int
    preferred: tuple[int, ...]
    delay_ns: int
    equal: EqualInputs

    @classmethod
    def of(cls, config: ModelConfig, settings: Any) -> BatchRules:
        """Read them.

        Parameters
        ----------
        settings
            What has ``preferred_batch_size`` and ``max_queue_delay_microseconds``:
            ``dynamic_batching``, or ``sequence_batching.oldest``.
        """
        # Triton's normalisation writes the largest size where none is preferred.
        largest = (config.max_batch_size,) if config.max_batch_size else ()
        sizes: Iterable[int] = settings.preferred_batch_size or largest
        return cls(
            max(1, config.max_batch_size),
            tuple(sorted({int(size) for size in sizes})),
            int(settings.max_queue_delay_microseconds) * US,
            EqualInputs.of(config),
        )

    @property
    def largest_preferred(self) -> int:
        """The largest preferred size; 0 where there is none."""
        return self.preferred[-1] if self.preferred else 0

    def next_preferred(self, size: int) -> int:
        """Return the preferred size above a size; above all, the smallest of all."""
        if not self.preferred:
            return 0
        above = bisect_right(self.preferred, size)
        return self.preferred[above % len(self.preferred)]

    def excess(self, size: int) -> Reason:
        """Say that one more is too much."""
        most = f" of at most {self.max_size}"
        if size <= self.max_size:
            most = f", preferred are {self.largest_preferred}"
        return Reason(Cause.TOO_LARGE, f"the next would make {size}{most}")

    def reached(self, size: int) -> Reason:
        """Say that a batch has a size that it is sent with."""
        if size == self.max_size:
            return Reason(Cause.LARGEST_SIZE, f"the largest size {size} was reached")
        words = f"the preferred size {size} was reached"
        return Reason(Cause.PREFERRED_SIZE, words)
