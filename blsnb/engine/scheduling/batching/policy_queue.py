"""PolicyQueue: the requests of one priority level, under its queue policy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple

from blsnb.engine.scheduling.batching.batch import Queued, QueueFull, T
from blsnb.model.text.schema import schema

US = 1000


@dataclass(frozen=True, slots=True)
class QueuePolicy:
    """Limits of a queue.

    Parameters
    ----------
    delays
        Whether expired requests move to the end instead of being rejected.
    timeout_us
        Maximum waiting time; 0 means no limit.
    overrides
        Whether a request's own timeout may lower it.
    max_queue_size
        Maximum number of waiting requests; 0 means no limit.
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
        """Whether the policy neither rejects nor delays requests."""
        return not (self.timeout_us or self.overrides or self.max_queue_size)

    def deadline_ns(self, queued: Queued[Any], now_ns: int) -> int:
        """Return when a request expires; 0 means never.

        References
        ----------
        core: src/scheduler_utils.cc, PolicyQueue::Enqueue
        """
        timeout_us = self.timeout_us
        # It only lowers the timeout of the policy, and has no effect without one.
        if self.overrides and 0 < queued.timeout_us < timeout_us:
            timeout_us = queued.timeout_us
        return now_ns + timeout_us * US if timeout_us else 0


class Waiting(NamedTuple, Generic[T]):
    """A request in a queue, and when it expires; 0 means never."""

    queued: Queued[T]
    deadline_ns: int

    def expired(self, now_ns: int) -> bool:
        """Whether the timeout is over."""
        return 0 < self.deadline_ns < now_ns


@dataclass(slots=True)
class Skipped(Generic[T]):
    """Requests that left a queue without being executed."""

    rejected: list[Queued[T]] = field(default_factory=list)
    cancelled: list[Queued[T]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.rejected or self.cancelled)


class PolicyQueue(Generic[T]):
    """Requests of one level: those in time, then those that expired.

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
        """Append a request; raise QueueFull at the limit of the policy."""
        if 0 < self._policy.max_queue_size <= len(self):
            raise QueueFull
        deadline_ns = self._policy.deadline_ns(queued, now_ns)
        self._in_time.append(Waiting(queued, deadline_ns))

    def at(self, index: int, now_ns: int, skipped: Skipped[T]) -> Waiting[T] | None:
        """Return the request at an index after the policy was applied there.

        Requests behind it, and those already expired, are not examined.
        """
        while index < len(self._in_time):
            waiting = self._in_time[index]
            if waiting.queued.cancelled():
                skipped.cancelled.append(waiting.queued)
            elif waiting.expired(now_ns):
                self._expire(waiting, skipped)
            else:
                return waiting
            del self._in_time[index]
        index -= len(self._in_time)
        return self._late[index] if index < len(self._late) else None

    def reject_expired(self, now_ns: int, skipped: Skipped[T]) -> None:
        """Reject all expired requests; delay none."""
        if self._policy.delays:
            return
        for waiting in [each for each in self._in_time if each.expired(now_ns)]:
            self._in_time.remove(waiting)
            skipped.rejected.append(waiting.queued)

    def take(self, count: int) -> list[Queued[T]]:
        """Remove and return the first requests, at most a number."""
        taken: list[Queued[T]] = []
        for queue in (self._in_time, self._late):
            joining = count - len(taken)
            taken += [waiting.queued for waiting in queue[:joining]]
            del queue[:joining]
        return taken

    def remove(self, queued: Queued[T]) -> bool:
        """Remove a request; return False if it is not here."""
        for queue in (self._in_time, self._late):
            for waiting in queue:
                if waiting.queued is queued:
                    queue.remove(waiting)
                    return True
        return False

    def _expire(self, waiting: Waiting[T], skipped: Skipped[T]) -> None:
        if self._policy.delays:
            self._late.append(Waiting(waiting.queued, 0))
        else:
            skipped.rejected.append(waiting.queued)
