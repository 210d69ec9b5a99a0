"""How many requests of a queue, in its order, join a batch, and why no more."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Generic, NamedTuple

from blsnb.engine.scheduling.batching.batch import Cause, Queued, Reason, T
from blsnb.engine.scheduling.batching.batch_rules import BatchRules
from blsnb.engine.scheduling.batching.forming_batch import FormingBatch
from blsnb.engine.scheduling.batching.policy_queue import US

_NO_DELAY = Reason(Cause.INSTANCE_FREE, "there is no delay, and an instance was free")


class Gathered(NamedTuple):
    """Result of a gathering.

    Parameters
    ----------
    joining
        Number of requests at the head of the queue that join the batch now.
    frozen
        Whether the batch is complete.
    because
        Why they join now; None if none joins.
    wait_ns
        When to gather again if none joins yet; None: no such time.
    next_size
        Queue size from which to gather earlier; None: unchanged.
    """

    joining: int
    frozen: bool
    because: Reason | None = None
    wait_ns: int | None = None
    next_size: int | None = None


class QueueWalk(Generic[T]):
    """Walks along a queue up to the first request that a batch cannot take.

    Parameters
    ----------
    batch
        The batch to extend, possibly empty.

    References
    ----------
    core: src/dynamic_batch_scheduler.cc, DynamicBatchScheduler::GetDynamicBatch
    """

    def __init__(self, rules: BatchRules, batch: FormingBatch[T]) -> None:
        self._rules = rules
        self._batch = batch
        self._first = batch.members[0] if batch.members else None
        self._before = self._total = batch.size
        self._count = self._best = 0
        self._best_because: Reason | None = None
        self._frozen = False
        self._stopped: Reason | None = None
        self._oldest_ns: int | None = None
        self._deadline_ns: int | None = None

    def look(self, queue: Iterable[Queued[T]], now_ns: int) -> Gathered:
        """Walk along the waiting requests and decide."""
        for queued in queue:
            if self._first is None:
                # The first request of a batch always fits.
                self._first = queued
            elif not self._admits(self._first, queued):
                break
            self._join(queued)
        return self._outcome(now_ns)

    def _admits(self, first: Queued[T], queued: Queued[T]) -> bool:
        """Whether the walk continues."""
        rules, total = self._rules, self._total + queued.size
        if total > rules.largest_preferred and not self._best:
            # Enough, unless the delay is over: then up to the maximum size.
            self._best, self._best_because = self._count, rules.excess(total)
            self._frozen = True
        if total > rules.max_size:
            self._stopped = rules.excess(total)
        elif difference := rules.equal.difference(first, queued):
            self._batch.mismatched = True
            words = f"the next is different: {difference.words}"
            self._stopped = Reason(difference.cause, words)
        return self._stopped is None

    def _join(self, queued: Queued[T]) -> None:
        self._count += 1
        total = self._total = self._total + queued.size
        oldest_ns, deadline_ns = self._oldest_ns, self._deadline_ns
        if oldest_ns is None or queued.enqueued_ns < oldest_ns:
            self._oldest_ns = queued.enqueued_ns
        if queued.deadline_ns and (
            deadline_ns is None or queued.deadline_ns < deadline_ns
        ):
            self._deadline_ns = queued.deadline_ns
        if total in self._rules.preferred:
            self._best, self._best_because = self._count, self._rules.reached(total)

    def _outcome(self, now_ns: int) -> Gathered:
        rules, count = self._rules, self._count
        late = rules.delay_ns > 0 and self._due_ns <= now_ns
        if self._best and not late:
            frozen = self._frozen or not rules.delay_ns
            return Gathered(self._best, frozen, self._best_because)
        if not count:
            return Gathered(0, self._frozen)
        if self._stopped:
            return Gathered(count, True, self._stopped)
        enough = self._total >= rules.largest_preferred
        if late:
            return Gathered(count, self._frozen or enough, _delay_over(rules.delay_ns))
        if enough:
            return Gathered(count, True, rules.enough(self._total))
        if not rules.delay_ns:
            return Gathered(count, self._frozen, _NO_DELAY)
        return self._waiting()

    @property
    def _due_ns(self) -> int:
        """End of the delay; without a pending request it is over, as on Triton."""
        return 0 if self._oldest_ns is None else self._oldest_ns + self._rules.delay_ns

    def _waiting(self) -> Gathered:
        """Wait for more requests, or extend a batch that may still grow."""
        rules = self._rules
        following = rules.next_preferred(self._total)
        next_size = following - self._before if following else 0
        if self._before and self._before not in rules.preferred and not self._frozen:
            because, count = self._batch.because, self._count
            return Gathered(count, False, because, next_size=next_size)
        wait_ns = self._due_ns
        if self._deadline_ns is not None:
            wait_ns = min(wait_ns, self._deadline_ns + 1)
        return Gathered(0, self._frozen, wait_ns=wait_ns, next_size=next_size)


@lru_cache
def _delay_over(delay_ns: int) -> Reason:
    words = f"the delay of {delay_ns // US} µs was over"
    return Reason(Cause.DELAY_OVER, words)
