"""Slots divided between keys, so that none takes them all."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Hashable
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")
_RESERVE = 8
"""One eighth of the slots is kept free of continued work."""


class Shares:
    """Slots, shared between keys. Not thread-safe.

    A key gets another slot only while more slots are free than it holds. A single busy
    key therefore holds half of them, two hold a third each, and a new key always finds
    a free slot.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self._held: Counter[Hashable] = Counter()
        self.free = total
        """Number of free slots."""

    def held(self, key: Hashable) -> int:
        """Return the number of slots of a key."""
        return self._held[key]

    def may_take(self, key: Hashable, continued: bool = False) -> bool:
        """Whether a key may take a slot now.

        Parameters
        ----------
        key
            None for work without a share: it takes any free slot.
        continued
            Whether the work continues something; it may use all but a small reserve.
        """
        if key is None:
            return self.free > 0
        least = self.total // _RESERVE if continued else self._held[key]
        return self.free > least

    def take(self, key: Hashable) -> None:
        """Take a slot for a key."""
        self.free -= 1
        self._held[key] += 1

    def release(self, key: Hashable) -> None:
        """Release a slot of a key."""
        self.free += 1
        self._held[key] -= 1
        if not self._held[key]:
            del self._held[key]


class _KeyQueue(NamedTuple, Generic[T]):
    """Waiting work of one key; continued work runs first."""

    continued: deque[T]
    first: deque[T]


class SharedQueue(Generic[T]):
    """Work that runs or waits for one of ``total`` slots. Not thread-safe.

    Work of one key runs in order of arrival. Keys alternate: the one that was served
    least recently is next.
    """

    def __init__(self, total: int) -> None:
        self.shares = Shares(total)
        self._queues: OrderedDict[Hashable, _KeyQueue[T]] = OrderedDict()
        self.waiting_count = 0
        """Number of waiting pieces of work."""

    def enter(self, key: Hashable, continued: bool = False) -> bool:
        """Take a slot for new work of a key; return whether one was available."""
        if not self._waits(key, continued) and self.shares.may_take(key, continued):
            self.shares.take(key)
            return True
        return False

    def _waits(self, key: Hashable, continued: bool) -> bool:
        queue = self._queues.get(key)
        return queue is not None and bool(queue.continued or not continued)

    def wait(self, key: Hashable, work: T, continued: bool = False) -> None:
        """Append waiting work."""
        queue = self._queues.setdefault(key, _KeyQueue(deque(), deque()))
        (queue.continued if continued else queue.first).append(work)
        self.waiting_count += 1

    def leave(self, key: Hashable) -> None:
        """Release the slot of completed work."""
        self.shares.release(key)

    def next(self) -> tuple[Hashable, T] | None:
        """Take a slot for waiting work; return key and work, or None."""
        for key, queue in self._queues.items():
            continued = bool(queue.continued)
            if self.shares.may_take(key, continued):
                self.shares.take(key)
                work = (queue.continued or queue.first).popleft()
                self._taken(key, queue)
                return key, work
        return None

    def _taken(self, key: Hashable, queue: _KeyQueue[T]) -> None:
        self.waiting_count -= 1
        if queue.continued or queue.first:
            self._queues.move_to_end(key)
        else:
            del self._queues[key]

    def drop(self) -> list[T]:
        """Remove and return all waiting work."""
        queues = list(self._queues.values())
        self._queues.clear()
        self.waiting_count = 0
        return [work for queue in queues for work in (*queue.continued, *queue.first)]
