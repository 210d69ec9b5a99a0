"""The requests of one priority level, under its queue policy."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Generic

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


@dataclass(slots=True)
class Skipped(Generic[T]):
    """Requests that left a queue without being executed."""

    rejected: list[Queued[T]] = field(default_factory=list)
    cancelled: list[Queued[T]] = field(default_factory=list)


class PolicyQueue(Generic[T]):
    """Requests of one level: those in time, then those that expired.

    References
    ----------
    core: src/scheduler_utils.cc, PriorityQueue::PolicyQueue
    """

    def __init__(self, policy: QueuePolicy) -> None:
        self._policy = policy
        self.in_time: deque[Queued[T]] = deque()
        self.late: deque[Queued[T]] = deque()
        """Expired requests, without a deadline."""

    def __len__(self) -> int:
        return len(self.in_time) + len(self.late)

    def add(self, queued: Queued[T], now_ns: int) -> None:
        """Append a request; raise QueueFull at the limit of the policy."""
        policy = self._policy
        if 0 < policy.max_queue_size <= len(self):
            raise QueueFull
        queued.deadline_ns = (
            policy.deadline_ns(queued, now_ns) if policy.timeout_us else 0
        )
        self.in_time.append(queued)

    def walk(self, now_ns: int, skipped: Skipped[T]) -> Iterator[Queued[T]]:
        """Yield requests in order, applying the policy to each just before.

        Those already expired are not examined.
        """
        index, in_time = 0, self.in_time
        while index < len(in_time):
            queued = in_time[index]
            if queued.cancelled():
                skipped.cancelled.append(queued)
            elif 0 < queued.deadline_ns < now_ns:
                self._expire(queued, skipped)
            else:
                yield queued
                index += 1
                continue
            del in_time[index]
        yield from self.late

    def reject_expired(self, now_ns: int, skipped: Skipped[T]) -> None:
        """Reject all expired requests; delay none."""
        if self._policy.delays:
            return
        for queued in [each for each in self.in_time if 0 < each.deadline_ns < now_ns]:
            self.in_time.remove(queued)
            skipped.rejected.append(queued)

    def take(self, count: int) -> list[Queued[T]]:
        """Remove and return the first requests, at most a number."""
        taken: list[Queued[T]] = []
        for queue in (self.in_time, self.late):
            while queue and len(taken) < count:
                taken.append(queue.popleft())
        return taken

    def remove(self, queued: Queued[T]) -> bool:
        """Remove a request; return False if it is not here."""
        for queue in (self.in_time, self.late):
            if queued in queue:
                queue.remove(queued)
                return True
        return False

    def _expire(self, queued: Queued[T], skipped: Skipped[T]) -> None:
        if self._policy.delays:
            queued.deadline_ns = 0
            self.late.append(queued)
        else:
            skipped.rejected.append(queued)
