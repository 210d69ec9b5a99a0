"""When batches begin: now, after a delay, or formed ahead; as on Triton."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum, auto
from itertools import chain
from typing import Any, Generic

from blsnb.engine.scheduling.batching.batch import Batch, Decision, Queued, Reason, T
from blsnb.engine.scheduling.batching.batch_rules import BatchRules
from blsnb.engine.scheduling.batching.forming_batch import FormingBatch
from blsnb.engine.scheduling.batching.gathering import QueueWalk
from blsnb.engine.scheduling.batching.policy_queue import Skipped
from blsnb.engine.scheduling.batching.priority_queue import PriorityQueue
from blsnb.model.config import ModelConfig

POLL_NS = 500_000_000
"""Time that Triton's batcher thread sleeps unless it is woken."""
PREFETCHED = 2
"""Number of batches per instance that are formed ahead."""
_NOTHING: Decision[Any, Any] = Decision()


class Asleep(Enum):
    """What the batcher waits for: Triton's thread would sleep."""

    REQUESTS = auto()
    A_SLOT = auto()
    THE_DELAY = auto()
    A_START = auto()


class DynamicBatcher(Generic[T]):
    """Forms batches of requests; it neither waits nor starts threads.

    It reproduces the batcher thread of Triton for a given time: when the thread looks
    at its queue, which batch it forms, how long it sleeps. Timeouts and cancellations
    are noticed only at a look. Without priorities and queue policy batches are formed
    ahead while all instances are busy; the last one may grow until it starts.

    Parameters
    ----------
    config
        A normalised configuration with ``dynamic_batching``.
    on_cancelled
        Called with each cancelled request, and the time, when Triton answers it: it may
        add requests, which the batcher's next look sees.
    explains
        Whether batches list the waiting requests that are not part of them.

    References
    ----------
    core: src/dynamic_batch_scheduler.cc, BatcherThread, Enqueue,
    WaitForPayloadSlotAvailable; src/rate_limiter.cc, PayloadSlotAvailable
    """

    def __init__(
        self,
        config: ModelConfig,
        on_cancelled: Callable[[Queued[T], int], None] = lambda queued, now_ns: None,
        *,
        explains: bool = True,
    ) -> None:
        batching = config.message.dynamic_batching
        self._on_cancelled = on_cancelled
        self._explains = explains
        self.preserve_ordering = bool(batching.preserve_ordering)
        self._rules = BatchRules.of(config, batching)
        self._queue = PriorityQueue[T](batching)
        self._instances = max(1, len(config.instance_names()))
        self._idle = self._startable = self._instances
        self._batch: FormingBatch[T] = FormingBatch(self._rules)
        self._formed: list[FormingBatch[T]] = []
        self._frozen = False
        # Triton's own sums: they decide whether a new request wakes the batcher.
        self._queued_size = 0
        self._next_preferred = 0
        self._asleep = Asleep.REQUESTS
        self._since_ns = 0
        self._wake_ns: int | None = None
        self._woken = False
        self._walked: Skipped[T] = Skipped()
        """Requests that leave the queue during a walk along it."""
        self._skipped: Skipped[T] | None = None
        self._answered: Skipped[T] | None = None

    def __len__(self) -> int:
        """Return the number of requests in the queue and in formed batches."""
        formed = sum(len(batch.members) for batch in self._formed)
        return formed + len(self._queue)

    def add(self, queued: Queued[T], now_ns: int) -> None:
        """Append a request; raise QueueFull at the limit of the queue policy."""
        queued.enqueued_ns = now_ns
        # Triton counts it before it may be refused, and never undoes that.
        self._queued_size += queued.size
        self._queue.add(queued, now_ns)
        if self._wakes():
            self._woken = True
        elif self._wake_ns is None:
            self._wake_ns = self._next_poll_ns(now_ns)

    def resize(self, instance_count: int) -> None:
        """Set the number of instances; to be followed by `decide`."""
        self._instances = instance_count
        self._woken = True

    @property
    def formed_count(self) -> int:
        """Number of batches that could start."""
        return len(self._formed)

    def decide(
        self, now_ns: int, idle: int, startable: int | None = None
    ) -> Decision[Batch[T], T]:
        """Return what to do after any change.

        Parameters
        ----------
        idle
            Number of free instances.
        startable
            Number of them that may start, if rates are limited.
        """
        # The end of an execution wakes the batcher.
        self._woken = self._woken or idle > self._idle
        self._idle = idle
        self._startable = idle if startable is None else startable
        batches: list[Batch[T]] = []
        while True:
            while self._startable and self._formed:
                batches.append(self._start(now_ns))
            wake_ns = self._wake_ns
            if not self._woken and (wake_ns is None or now_ns < wake_ns):
                break
            self._look(now_ns)
        if self._answered is None:
            if not batches and wake_ns is None:
                return _NOTHING
            return Decision(tuple(batches), (), (), wake_ns)
        answered, self._answered = self._answered, None
        rejected, cancelled = tuple(answered.rejected), tuple(answered.cancelled)
        return Decision(tuple(batches), rejected, cancelled, wake_ns)

    def remove(self, queued: Queued[T]) -> bool:
        """Remove a request; return False if it does not wait here."""
        if self._queue.remove(queued):
            self._queued_size -= queued.size
            return True
        for batch in self._formed:
            if queued in batch.members:
                batch.members.remove(queued)
                if not batch.members:
                    self._formed.remove(batch)
                    batch.started = self._woken = True
                return True
        return False

    @property
    def _has_slot(self) -> bool:
        if self._queue.waits_for_all:
            return len(self._formed) < PREFETCHED * self._instances
        # A formed batch that may not start yet has its instance.
        return self._idle > len(self._formed)

    def _wakes(self) -> bool:
        """Whether a new request wakes the batcher, by Triton's sums."""
        # Triton keeps the next size when the requests it expected were cancelled: the
        # next one may wait up to half a second although an instance is idle.
        if self._queued_size < self._next_preferred and not self._rules.equal.names:
            return False
        return self._has_slot

    def _sleep(self, until: Asleep, now_ns: int, wake_ns: int | None = None) -> None:
        self._asleep, self._since_ns, self._wake_ns = until, now_ns, wake_ns

    def _next_poll_ns(self, now_ns: int) -> int | None:
        """Return when Triton's thread looks unless it is woken.

        The times do not depend on when they are requested; None if such a look
        changes nothing.
        """
        waits = self._asleep is Asleep.A_SLOT and self._queue.has_timeouts
        if not (waits or self._asleep is Asleep.REQUESTS):
            return None
        periods = (now_ns - self._since_ns) // POLL_NS + 1
        return self._since_ns + periods * POLL_NS

    def _look(self, now_ns: int) -> None:
        self._woken = False
        if self._skipped is not None:
            self._answer(self._skipped, now_ns)
        if self._frozen or self._batch.started:
            self._batch = FormingBatch(self._rules)
            self._frozen = False
            self._next_preferred = 0
        if not len(self._queue):
            self._sleep(Asleep.REQUESTS, now_ns)
        elif not self._has_slot:
            self._poll(now_ns)
        else:
            self._gather(now_ns)

    def _poll(self, now_ns: int) -> None:
        """Wait for a slot; twice a second, reject expired requests.

        References
        ----------
        core: src/dynamic_batch_scheduler.cc, WaitForPayloadSlotAvailable
        """
        if self._asleep is not Asleep.A_SLOT:
            self._sleep(Asleep.A_SLOT, now_ns)
        elif self._wake_ns is not None and now_ns >= self._wake_ns:
            self._skip(self._queue.reject_expired(now_ns))
            if self._skipped is not None:
                self._answer(self._skipped, now_ns)
            self._wake_ns = None
        self._wake_ns = self._wake_ns or self._next_poll_ns(now_ns)

    def _gather(self, now_ns: int) -> None:
        skipped = self._walked
        queue = self._queue.walk(now_ns, skipped)
        gathered = QueueWalk(self._rules, self._batch).look(queue, now_ns)
        if skipped.rejected or skipped.cancelled:
            self._walked = Skipped()
            self._skip(skipped)
            self._queued_size -= sum(
                queued.size for queued in (*skipped.rejected, *skipped.cancelled)
            )
        if gathered.next_size is not None:
            self._next_preferred = gathered.next_size
        self._frozen = gathered.frozen
        if gathered.wait_ns is not None:
            # Triton answers skipped requests only after this wait.
            self._sleep(Asleep.THE_DELAY, now_ns, gathered.wait_ns)
            return
        if gathered.because is not None:
            self._take(gathered.joining, gathered.because)
        if self._skipped is not None:
            self._answer(self._skipped, now_ns)
        if gathered.joining or self._frozen or not self._batch.members:
            self._sleep(Asleep.REQUESTS, now_ns)
            self._woken = True
        else:
            # The next request does not fit into this batch; Triton's thread spins.
            self._sleep(Asleep.A_START, now_ns)

    def _take(self, count: int, because: Reason) -> None:
        if not self._batch.members:
            self._formed.append(self._batch)
        members = self._queue.take(count)
        self._batch.extend(members, because)
        for queued in members:
            self._queued_size -= queued.size

    def _start(self, now_ns: int) -> Batch[T]:
        """Start the first formed batch, which wakes the batcher."""
        batch = self._formed.pop(0)
        batch.started = True
        while self._formed and batch.meets(self._formed[0], now_ns):
            self._formed[0].started = True
            if not batch.takes(self._formed[0]):
                break
            merged = self._formed.pop(0)
            batch.extend(merged.members, merged.because)
        self._idle -= 1
        self._startable -= 1
        self._woken = True
        is_alone = not (self._formed or len(self._queue))
        return batch.sent(self._waiting() if self._explains and not is_alone else None)

    def _waiting(self) -> Iterator[Queued[T]]:
        formed = chain.from_iterable(batch.members for batch in self._formed)
        return chain(formed, self._queue)

    def _skip(self, skipped: Skipped[T]) -> None:
        self._skipped = _joined(self._skipped, skipped)

    def _answer(self, skipped: Skipped[T], now_ns: int) -> None:
        self._skipped = None
        self._answered = _joined(self._answered, skipped)
        for queued in skipped.cancelled:
            self._on_cancelled(queued, now_ns)


def _joined(known: Skipped[T] | None, more: Skipped[T]) -> Skipped[T] | None:
    """Return requests that left a queue, and more of them; None without any."""
    if known is None:
        return more if more.rejected or more.cancelled else None
    return Skipped(known.rejected + more.rejected, known.cancelled + more.cancelled)
