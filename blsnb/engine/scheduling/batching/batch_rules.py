"""Settings of batches: sizes, delay, and which requests may share a batch."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from blsnb.engine.scheduling.batching.batch import Cause, Queued, Reason
from blsnb.engine.scheduling.batching.policy_queue import US
from blsnb.model.config import ModelConfig

_NO_BATCHES = Reason(Cause.NOT_BATCHING, "the model does not batch")


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
    largest_preferred
        The last of them; 0 without any.
    delay_ns
        Maximum time that a request waits for a preferred size.
    """

    max_size: int
    preferred: tuple[int, ...]
    largest_preferred: int
    delay_ns: int
    equal: EqualInputs

    @classmethod
    def of(cls, config: ModelConfig, settings: Any) -> BatchRules:
        """Read ``dynamic_batching`` or ``sequence_batching.oldest`` of a model."""
        # Without a preferred size Triton's normalisation writes the largest one.
        largest = (config.max_batch_size,) if config.max_batch_size else ()
        sizes: Iterable[int] = settings.preferred_batch_size or largest
        preferred = tuple(sorted({int(size) for size in sizes}))
        return cls(
            max(1, config.max_batch_size),
            preferred,
            preferred[-1] if preferred else 0,
            int(settings.max_queue_delay_microseconds) * US,
            EqualInputs.of(config),
        )

    def next_preferred(self, size: int) -> int:
        """Return the next larger preferred size; above all of them, the smallest."""
        if not self.preferred:
            return 0
        above = bisect_right(self.preferred, size)
        return self.preferred[above % len(self.preferred)]

    def excess(self, size: int) -> Reason:
        """Return the reason why one more request is too much."""
        return _excess(size, self.max_size, self.largest_preferred)

    def reached(self, size: int) -> Reason:
        """Return the reason that a batch has reached a size."""
        return _reached(size, self.max_size)

    def enough(self, size: int) -> Reason:
        """Return the reason that a batch needs no more requests."""
        return _enough(size) if self.preferred else _NO_BATCHES


# The reasons of a few sizes are needed again and again.
@lru_cache
def _excess(size: int, max_size: int, preferred: int) -> Reason:
    most = f" of at most {max_size}"
    if size <= max_size:
        most = f", preferred are {preferred}"
    return Reason(Cause.TOO_LARGE, f"the next would make {size}{most}")


@lru_cache
def _reached(size: int, max_size: int) -> Reason:
    if size == max_size:
        return Reason(Cause.LARGEST_SIZE, f"the largest size {size} was reached")
    return Reason(Cause.PREFERRED_SIZE, f"the preferred size {size} was reached")


@lru_cache
def _enough(size: int) -> Reason:
    words = f"{size} is no less than the largest preferred size"
    return Reason(Cause.PREFERRED_SIZE, words)
