"""Ends: what is kept of a row of items that may never end."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Ends(Generic[T]):
    """The first and the latest of many items; those between are only counted.

    One thread adds; others may look meanwhile.

    Parameters
    ----------
    most
        Number of items kept at most.
    most_bytes
        Bytes kept at most; the latest item stays, however large it is.
    """

    __slots__ = (
        "_first",
        "_first_bytes",
        "_last",
        "_last_bytes",
        "_most",
        "_most_bytes",
        "count",
    )

    def __init__(self, most: int, most_bytes: int) -> None:
        self.count = 0
        """How many items there were."""
        self._most = most
        self._most_bytes = most_bytes
        self._first: list[tuple[T, int]] = []
        self._last: deque[tuple[T, int]] = deque()
        self._first_bytes = self._last_bytes = 0

    def __len__(self) -> int:
        """Return the number of items kept."""
        return len(self._first) + len(self._last)

    @property
    def items(self) -> list[T]:
        """The items kept, in order."""
        return [item for item, _ in (*self._first, *tuple(self._last))]

    @property
    def first_count(self) -> int:
        """How many items are kept before those that are only counted."""
        return len(self._first)

    @property
    def left_out(self) -> int:
        """How many items are only counted."""
        return max(0, self.count - len(self))

    @property
    def byte_size(self) -> int:
        """Bytes of the items kept."""
        return self._first_bytes + self._last_bytes

    def add(self, item: T, byte_size: int = 0) -> None:
        """Add an item; one from the middle may have to leave."""
        fits = self._first_bytes + byte_size <= self._most_bytes // 2
        if self.count < self._most // 2 and fits and not self._last:
            self._first.append((item, byte_size))
            self._first_bytes += byte_size
        else:
            self._last.append((item, byte_size))
            self._last_bytes += byte_size
            self._trim()
        self.count += 1

    def shrink(self, most: int) -> None:
        """Keep no more than so many items from now on."""
        self._most = min(self._most, most)
        for item in reversed(self._first[self._most // 2 :]):
            self._last.appendleft(item)
            self._first_bytes -= item[1]
            self._last_bytes += item[1]
        del self._first[self._most // 2 :]
        self._trim()

    def _trim(self) -> None:
        last, most = self._last, self._most - self._most // 2
        while len(last) > most or (self.byte_size > self._most_bytes and len(last) > 1):
            self._last_bytes -= last.popleft()[1]
