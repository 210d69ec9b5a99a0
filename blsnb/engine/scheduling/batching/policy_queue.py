"""The queue of one priority level, under its queue policy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple

from blsnb.engine.scheduling.batching.batch import Queued, QueueFull, T
from blsnb.model.text.schema import schema

US = 1000


@dataclass(frozen=True, slots=True)
class QueuePolicy:
    """How long a request may wait, and how many at once.

    Parameters
    ----------
    delays
        What is too late goes to the end instead of being refused.
    timeout_us
        How long a request may wait; 0 for ever.
    overrides
        Whether a request may ask for less.
    max_queue_size
        How many may wait; 0 for any number.
    """

    delays: bool = False
    timeout_us: int = 0
    overrides: bool = False
    max_queue_size: int = 0

    @classmethod
    def of(cls, message: Any) -> QueuePolicy:
        """Read a ``ModelQueuePolicy``."""
        return cls(
            delays=message.timeout_action == schema().ModelQueuePolicy.DELAY,
            timeout_us=int(message.default_timeout_microseconds),
            overrides=bool(message.allow_timeout_override),
            max_queue_size=int(message.max_queue_size),
        )

    @property
    def waits_for_all(self) -> bool:
        """Whether nothing in it can refuse or delay a request."""
        return not (self.timeout_us or self.overrides or self.max_queue_size)

    def deadline_ns(self, queued: Queued[Any], now_ns: int) -> int:
        """Return when a request is too late; 0 for never.

        References
        ----------
        core: src/scheduler_utils.cc, PolicyQueue::Enqueue
        """
        timeout_us = self.timeout_us
        # It can only lower, so where the policy has no timeout there is none.
        if self.overrides and 0 < queued.timeout_us < timeout_us:
            timeout_us = queued.timeout_us
        return now_ns + timeout_us * US if timeout_us else 0


class Waiting(NamedTuple, Generic[T]):
    """A request in a queue, and when it is too late; 0 for never."""

    queued: Queued[T]
    deadline_ns: int

    def expired(self, now_ns: int) -> bool:
        """Whether it has waited for too long."""
        return 0 < self.deadline_ns < now_ns


@dataclass(slots=True)
class Skipped(Generic[T]):
    """Who left a queue without being executed."""

    rejected: list[Queued[T]] = field(default_factory=list)
    cancelled: list[Queued[T]] = field(default_factory=list)


class PolicyQueue(Generic[T]):
    """Requests of one level: those in time, then those that came too late.

    References
    ----------
    core: src/scheduler_utils.cc, PriorityQueue::PolicyQueue
    """

    def __init__(self, policy: QueuePolicy) -> None:
        self._policy = policy
        self._in_time: list[Waiting[T]] = []
        self._late: list[Waiting[T]] = []

    def __len__(self) -> int:
        return len(self._in_time) + len(self._late)

    def __iter__(self) -> Iterator[Waiting[T]]:
        yield from self._in_time
        yield from self._late

    def add(self, queued: Queued[T], now_ns: int) -> None:
        """Put a request at the end.

        Raises
        ------
        QueueFull
            As many wait as the policy allows.
        """
        if 0 < self._policy.max_queue_size <= len(self):
            raise QueueFull
        deadline_ns = self._policy.deadline_ns(queued, now_ns)
        self._in_time.append(Waiting(queued, deadline_ns))

    def at(self, index: int, now_ns: int, skipped: Skipped[T]) -> Waiting[T] | None:
        """Return who stands at a place once the policy was applied to that place.

        Nobody further behind is looked at, and nobody who is already late.
        """
        while index < len(self._in_time):
            waiting = self._in_time[index]
            if waiting.queued.cancelled():
                skipped.cancelled.append(waiting.queued)
            elif waiting.expired(now_ns):
                self._too_late(waiting, skipped)
            else:
                return waiting
            del self._in_time[index]
        index -= len(self._in_time)
        return self._late[index] if index < len(self._late) else None

    def reject_expired(self, now_ns: int, skipped: Skipped[T]) -> None:
        """Refuse all that are too late, wherever they stand; delay nobody."""
        if self._policy.delays:
            return
        for waiting in [each for each in self._in_time if each.expired(now_ns)]:
            self._in_time.remove(waiting)
            skipped.rejected.append(waiting.queued)

    def take(self) -> Queued[T]:
        """Remove the first."""
        return (self._in_time or self._late).pop(0).queued

    def remove(self, queued: Queued[T]) -> bool:
        """Remove one request; False if it is not here."""
        for queue in (self._in_time, self._late):
            for waiting in queue:
                if waiting.queued is queued:
                    queue.remove(waiting)
                    return True
        return False

    def _too_late(self, waiting: Waiting[T], skipped: Skipped[T]) -> None:
        if self._policy.delays:
            self._late.append(Waiting(waiting.queued, 0))
        else:
            skipped.rejected.append(waiting.queued)
