"""Settings of batches: sizes, delay, and which requests may share a batch."""

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
    """Inputs in which all requests of a batch must agree.

    Parameters
    ----------
    names
        Inputs whose shapes must be equal: variable ones that are not ragged.
    same_set
        Whether all requests must have the same inputs: some are optional.

    References
    ----------
    core: src/backend_model.cc, SetConfiguredScheduler; src/scheduler_utils.cc,
    RequiredEqualInputs
    """

    names: frozenset[str]
    same_set: bool

    @classmethod
    def of(cls, config: ModelConfig) -> EqualInputs:
        """Return the requirements of a model."""
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
        if not self.names:
            return None
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
    """Settings of a batcher.

    Parameters
    ----------
    max_size
        Maximum batch size; 1 if the model does not batch.
    preferred
        Preferred sizes, ascending.
    delay_ns
        Maximum time that a request waits for a preferred size.
    """

    max_size: int
    preferred: tuple[int, ...]
    delay_ns: int
    equal: EqualInputs

    @classmethod
    def of(cls, config: ModelConfig, settings: Any) -> BatchRules:
        """Read ``dynamic_batching`` or ``sequence_batching.oldest`` of a model."""
        # Without a preferred size Triton's normalisation writes the largest one.
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
        """The largest preferred size; 0 without any."""
        return self.preferred[-1] if self.preferred else 0

    def next_preferred(self, size: int) -> int:
        """Return the next larger preferred size; above all of them, the smallest."""
        if not self.preferred:
            return 0
        above = bisect_right(self.preferred, size)
        return self.preferred[above % len(self.preferred)]

    def excess(self, size: int) -> Reason:
        """Return the reason why one more request is too much."""
        most = f" of at most {self.max_size}"
        if size <= self.max_size:
            most = f", preferred are {self.largest_preferred}"
        return Reason(Cause.TOO_LARGE, f"the next would make {size}{most}")

    def reached(self, size: int) -> Reason:
        """Return the reason that a batch has reached a size."""
        if size == self.max_size:
            return Reason(Cause.LARGEST_SIZE, f"the largest size {size} was reached")
        words = f"the preferred size {size} was reached"
        return Reason(Cause.PREFERRED_SIZE, words)
