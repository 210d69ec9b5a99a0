"""Shares: which work may run now, so that no key takes every slot."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Hashable
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")
_RESERVE = 8
"""One in this many slots stays free of continued work."""


class Shares:
    """Slots, shared between keys. Not thread-safe.

    A key takes one more slot only while more slots are free than it holds. Alone it
    therefore gets half of them, two busy keys get a third each, and a key that holds
    none finds a free slot.

    Parameters
    ----------
    total
        Number of slots.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self._held: Counter[Hashable] = Counter()
        self.free = total
        """Number of slots that nobody holds."""

    def held(self, key: Hashable) -> int:
        """Return the number of slots of a key."""
        return self._held[key]

    def may_take(self, key: Hashable, continued: bool = False) -> bool:
        """Whether a key may take a slot now.

        Parameters
        ----------
        key
            None for work that is not shared out: it takes any free slot.
        continued
            Whether the work goes on with something that has begun; only a small
            reserve is kept from it.
        """
        if key is None:
            return self.free > 0
        least = self.total // _RESERVE if continued else self._held[key]
        return self.free > least

    def take(self, key: Hashable) -> None:
        """Give a key a slot."""
        self.free -= 1
        self._held[key] += 1

    def release(self, key: Hashable) -> None:
        """Take back a slot of a key."""
        self.free += 1
        self._held[key] -= 1
        if not self._held[key]:
            del self._held[key]


class _Line(NamedTuple, Generic[T]):
    """Work of one key that waits: continued work goes first."""

    continued: deque[T]
    first: deque[T]


class SharedQueue(Generic[T]):
    """Work that runs or waits for a slot. Not thread-safe.

    Work of one key runs in the order of arrival. Where several keys may go on, the
    one that waits longest for its turn does.

    Parameters
    ----------
    total
        Number of slots.
    """

    def __init__(self, total: int) -> None:
        self.shares = Shares(total)
        self._lines: OrderedDict[Hashable, _Line[T]] = OrderedDict()
        self.waiting_count = 0
        """Number of pieces of work that wait."""

    def enter(self, key: Hashable, continued: bool = False) -> bool:
        """Take a slot for new work of a key; return whether there was one."""
        if not self._waits(key, continued) and self.shares.may_take(key, continued):
            self.shares.take(key)
            return True
        return False

    def _waits(self, key: Hashable, continued: bool) -> bool:
        line = self._lines.get(key)
        return line is not None and bool(line.continued or not continued)

    def wait(self, key: Hashable, work: T, continued: bool = False) -> None:
        """Let work wait for its turn."""
        line = self._lines.setdefault(key, _Line(deque(), deque()))
        (line.continued if continued else line.first).append(work)
        self.waiting_count += 1

    def leave(self, key: Hashable) -> None:
        """Take back the slot of work that is done."""
        self.shares.release(key)

    def next(self) -> tuple[Hashable, T] | None:
        """Take a slot for work that waits; return it with its key, or None."""
        for key, line in self._lines.items():
            continued = bool(line.continued)
            if self.shares.may_take(key, continued):
                self.shares.take(key)
                work = (line.continued or line.first).popleft()
                self._taken(key, line)
                return key, work
        return None

    def _taken(self, key: Hashable, line: _Line[T]) -> None:
        self.waiting_count -= 1
        if line.continued or line.first:
            self._lines.move_to_end(key)
        else:
            del self._lines[key]

    def drop(self) -> list[T]:
        """Forget all work that waits, and return it."""
        lines = list(self._lines.values())
        self._lines.clear()
        self.waiting_count = 0
        return [work for line in lines for work in (*line.continued, *line.first)]
