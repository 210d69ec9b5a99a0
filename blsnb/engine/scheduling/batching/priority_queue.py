"""The order in which requests are batched: by priority level, then by arrival."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, Generic

from blsnb.engine.scheduling.batching.batch import Queued, T
from blsnb.engine.scheduling.batching.policy_queue import (
    PolicyQueue,
    QueuePolicy,
    Skipped,
)

_MAX_EMPTY_LEVELS = 16
"""Maximum number of levels that are kept without requests."""


class PriorityQueue(Generic[T]):
    """One queue per priority level of ``dynamic_batching``; level 1 comes first.

    References
    ----------
    core: src/scheduler_utils.cc, PriorityQueue
    """

    def __init__(self, batching: Any) -> None:
        self._most = int(batching.priority_levels)
        self._default = int(batching.default_priority_level)
        self._default_policy = QueuePolicy.of(batching.default_queue_policy)
        policies = batching.priority_queue_policy.items() if self._most else ()
        self._policies = {
            int(level): QueuePolicy.of(policy) for level, policy in policies
        }
        self.waits_for_all = not self._most and self._default_policy.waits_for_all
        """Whether there are neither levels nor a policy: order of arrival."""
        every = (self._default_policy, *self._policies.values())
        self._may_expire = any(policy.timeout_us for policy in every)
        self.may_delay = self._may_expire and any(policy.delays for policy in every)
        """Whether a request may expire and be executed behind all others."""
        # Only levels that had requests: a configuration may have billions of levels.
        self._levels: dict[int, PolicyQueue[T]] = {}
        self._in_order: tuple[PolicyQueue[T], ...] = ()

    def __len__(self) -> int:
        count = 0
        for queue in self._in_order:
            count += len(queue.in_time) + len(queue.late)
        return count

    def __iter__(self) -> Iterator[Queued[T]]:
        for queue in self._in_order:
            yield from chain(queue.in_time, queue.late)

    @property
    def has_timeouts(self) -> bool:
        """Whether a waiting request may expire."""
        return self._may_expire and any(
            self._policy(level).timeout_us and len(queue)
            for level, queue in self._levels.items()
        )

    def level_of(self, priority: int) -> int:
        """Return the level for the priority of a request.

        References
        ----------
        core: src/infer_request.cc, InferenceRequest::Normalize
        """
        if not self._most:
            return 0
        return priority if 1 <= priority <= self._most else self._default

    def policy_of(self, priority: int) -> QueuePolicy:
        """Return the policy for requests of a priority."""
        return self._policy(self.level_of(priority))

    def add(self, queued: Queued[T], now_ns: int) -> None:
        """Append a request to its level; raise QueueFull at the level's limit."""
        level = self.level_of(queued.priority)
        queue = self._levels.get(level)
        if queue is None:
            queue = PolicyQueue(self._policy(level))
            self._set_levels({**self._levels, level: queue})
        queue.add(queued, now_ns)

    def _set_levels(self, levels: dict[int, PolicyQueue[T]]) -> None:
        self._levels = levels
        self._in_order = tuple(levels[level] for level in sorted(levels))

    def walk(self, now_ns: int, skipped: Skipped[T]) -> Iterator[Queued[T]]:
        """Yield requests in order, applying the policy to each just before.

        Requests behind the point where the caller stops are not examined.
        """
        walks = [queue.walk(now_ns, skipped) for queue in self._in_order]
        return walks[0] if len(walks) == 1 else chain.from_iterable(walks)

    def take(self, count: int) -> list[Queued[T]]:
        """Remove and return the first ``count`` requests, in the order of `walk`."""
        taken: list[Queued[T]] = []
        for queue in self._in_order:
            if len(taken) == count:
                break
            taken += queue.take(count - len(taken))
        if len(self._levels) > _MAX_EMPTY_LEVELS:
            levels = self._levels.items()
            self._set_levels({level: queue for level, queue in levels if len(queue)})
        return taken

    def reject_expired(self, now_ns: int) -> Skipped[T]:
        """Remove all requests that have expired and may be rejected."""
        skipped: Skipped[T] = Skipped()
        for queue in self._in_order:
            queue.reject_expired(now_ns, skipped)
        return skipped

    def remove(self, queued: Queued[T]) -> bool:
        """Remove a request; return False if it is not here."""
        return any(queue.remove(queued) for queue in self._levels.values())

    def _policy(self, level: int) -> QueuePolicy:
        return self._policies.get(level, self._default_policy)
