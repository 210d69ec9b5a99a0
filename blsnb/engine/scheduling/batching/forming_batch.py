"""A batch that may grow until an instance executes it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Generic

from blsnb.engine.scheduling.batching.batch import Batch, Cause, Queued, Reason, T
from blsnb.engine.scheduling.batching.batch_rules import BatchRules

MAX_LEFT_OUT = 64
"""Maximum number of waiting requests that a batch lists with a reason."""
_NO_REASON = Reason(Cause.INSTANCE_FREE, "")
_BEHIND = Reason(Cause.BEHIND_ANOTHER, "came behind one that did not fit")


class FormingBatch(Generic[T]):
    """A batch before it is executed: Triton's payload.

    References
    ----------
    core: src/payload.cc
    """

    __slots__ = ("_rules", "because", "members", "mismatched", "started")

    def __init__(self, rules: BatchRules) -> None:
        self._rules = rules
        self.members: list[Queued[T]] = []
        self.because = _NO_REASON
        self.started = False
        """Whether an instance has taken or considered it: it no longer grows."""
        self.mismatched = False
        """Whether the next request has other inputs: it is not merged."""

    @property
    def size(self) -> int:
        """The sum of its requests' sizes."""
        size = 0
        for queued in self.members:
            size += queued.size
        return size

    @property
    def since_ns(self) -> int:
        """Arrival of its oldest request."""
        return min(queued.enqueued_ns for queued in self.members)

    def extend(self, members: Iterable[Queued[T]], because: Reason) -> None:
        """Append requests."""
        self.members += members
        self.because = because

    def misfit(self, queued: Queued[T]) -> Reason | None:
        """Return why a request cannot join; None if it can."""
        total = self.size + queued.size
        if total > self._rules.max_size:
            words = f"would make {total} of at most {self._rules.max_size}"
            return Reason(Cause.TOO_LARGE, words)
        return self._rules.equal.difference(self.members[0], queued)

    def meets(self, other: FormingBatch[T], now_ns: int) -> bool:
        """Whether the next batch may join this one, which starts now.

        It may once it has waited longer than the delay: then it no longer grows.

        References
        ----------
        core: src/instance_queue.cc, InstanceQueue::Dequeue
        """
        late = 0 < self._rules.delay_ns < now_ns - other.since_ns
        return late and not (self.mismatched or other.mismatched)

    def takes(self, other: FormingBatch[T]) -> bool:
        """Whether the whole next batch fits into this one."""
        fits = self.size + other.size <= self._rules.max_size
        return fits and not self.misfit(other.members[0])

    def sent(self, behind: Iterable[Queued[T]] | None) -> Batch[T]:
        """Return the batch to start.

        Parameters
        ----------
        behind
            The waiting requests in order; None if the batch does not list them.
        """
        if behind is None:
            return Batch(tuple(self.members), self.because)
        had_left = Reason(
            Cause.BATCH_HAD_LEFT, f"the batch had left: {self.because.words}"
        )
        left_out: list[tuple[Queued[T], Reason]] = []
        blocked = False
        for queued in islice(behind, MAX_LEFT_OUT):
            reason = _BEHIND if blocked else self.misfit(queued)
            left_out.append((queued, reason or had_left))
            blocked = reason is not None
        return Batch(tuple(self.members), self.because, tuple(left_out))
