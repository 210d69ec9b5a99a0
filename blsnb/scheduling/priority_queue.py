"""Requests in the order in which they are due: by level, then by arrival."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic

from blsnb.scheduling.policy_queue import PolicyQueue, QueuePolicy, Skipped, Waiting
from blsnb.scheduling.queued import Queued, T


class PriorityQueue(Generic[T]):
    """One queue per priority level; level 1 comes first.

    Parameters
    ----------
    batching
        The ``dynamic_batching`` of a configuration.

    References
    ----------
    core: src/scheduler_utils.cc, PriorityQueue
    """

    def __init__(self, batching: Any) -> None:
        self._most = int(batching.priority_levels)
        self._default = int(batching.default_priority_level)
        default = QueuePolicy.of(batching.default_queue_policy)
        levels = range(1, self._most + 1) if self._most else (0,)
        own = {
            int(level): QueuePolicy.of(policy)
            for level, policy in batching.priority_queue_policy.items()
        }
        self._policies = {level: own.get(level, default) for level in levels}
        self._levels = {
            level: PolicyQueue[T](policy) for level, policy in self._policies.items()
        }

    def __len__(self) -> int:
        return sum(map(len, self._levels.values()))

    def __iter__(self) -> Iterator[Waiting[T]]:
        for queue in self._levels.values():
            yield from queue

    @property
    def waits_for_all(self) -> bool:
        """Whether there are neither levels nor a policy: first come, first served."""
        return not self._most and self._policies[0].waits_for_all

    @property
    def has_timeouts(self) -> bool:
        """Whether somebody who waits may be too late one day."""
        return any(
            policy.timeout_us and len(self._levels[level])
            for level, policy in self._policies.items()
        )

    def level_of(self, priority: int) -> int:
        """Return the level of a request's own priority.

        References
        ----------
        core: src/infer_request.cc, InferenceRequest::Normalize
        """
        if not self._most:
            return 0
        return priority if 1 <= priority <= self._most else self._default

    def add(self, queued: Queued[T], now_ns: int) -> None:
        """Put a request behind those of its level.

        Raises
        ------
        QueueFull
            As many wait on this level as its policy allows.
        """
        self._levels[self.level_of(queued.priority)].add(queued, now_ns)

    def walk(self, now_ns: int, skipped: Skipped[T]) -> Iterator[Waiting[T]]:
        """Yield who is due, in order; the policy meets each just before it is yielded.

        So who stands behind the place where a caller stops is not looked at.
        """
        for queue in self._levels.values():
            index = 0
            while (waiting := queue.at(index, now_ns, skipped)) is not None:
                yield waiting
                index += 1

    def take(self, count: int) -> list[Queued[T]]:
        """Remove the first so many, in order."""
        return [self._first().take() for _ in range(count)]

    def reject_expired(self, now_ns: int) -> Skipped[T]:
        """Remove all that may be refused and are too late."""
        skipped = Skipped[T]()
        for queue in self._levels.values():
            queue.reject_expired(now_ns, skipped)
        return skipped

    def remove(self, queued: Queued[T]) -> bool:
        """Remove one request; False if it is not here."""
        return any(queue.remove(queued) for queue in self._levels.values())

    def _first(self) -> PolicyQueue[T]:
        return next(queue for queue in self._levels.values() if len(queue))
