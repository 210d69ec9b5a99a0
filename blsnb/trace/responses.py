"""The responses of one call, in bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar

from blsnb.printable import counted
from blsnb.tensors.ref import TensorRef
from blsnb.trace.facts import ParameterPairs

T = TypeVar("T")


class Ends(Generic[T]):
    """The first and latest of many items; those between are only counted.

    One thread adds items; other threads may read concurrently.

    Parameters
    ----------
    max_items
        Maximum number of kept items.
    max_bytes
        Maximum number of kept bytes; the latest item is kept in any case.
    """

    __slots__ = (
        "_first",
        "_first_bytes",
        "_last",
        "_last_bytes",
        "_max_bytes",
        "_max_items",
        "count",
    )

    def __init__(self, max_items: int, max_bytes: int) -> None:
        self.count = 0
        """Number of all items."""
        self._max_items = max_items
        self._max_bytes = max_bytes
        self._first: list[tuple[T, int]] = []
        self._last: deque[tuple[T, int]] = deque()
        self._first_bytes = self._last_bytes = 0

    def __len__(self) -> int:
        """Return the number of kept items."""
        return len(self._first) + len(self._last)

    @property
    def items(self) -> list[T]:
        """The kept items in order."""
        return [item for item, _ in (*self._first, *tuple(self._last))]

    @property
    def first_count(self) -> int:
        """Number of kept items before the counted ones."""
        return len(self._first)

    @property
    def left_out(self) -> int:
        """Number of items that are only counted."""
        return max(0, self.count - len(self))

    @property
    def byte_size(self) -> int:
        """Bytes of the kept items."""
        return self._first_bytes + self._last_bytes

    def add(self, item: T, byte_size: int = 0) -> None:
        """Add an item; one from the middle may be dropped."""
        fits = self._first_bytes + byte_size <= self._max_bytes // 2
        if self.count < self._max_items // 2 and fits and not self._last:
            self._first.append((item, byte_size))
            self._first_bytes += byte_size
        else:
            self._last.append((item, byte_size))
            self._last_bytes += byte_size
            self._trim()
        self.count += 1

    def shrink(self, max_items: int) -> None:
        """Lower the maximum number of kept items."""
        self._max_items = min(self._max_items, max_items)
        for item in reversed(self._first[self._max_items // 2 :]):
            self._last.appendleft(item)
            self._first_bytes -= item[1]
            self._last_bytes += item[1]
        del self._first[self._max_items // 2 :]
        self._trim()

    def _trim(self) -> None:
        last, max_items = self._last, self._max_items - self._max_items // 2
        while len(last) > max_items or (
            self.byte_size > self._max_bytes and len(last) > 1
        ):
            self._last_bytes -= last.popleft()[1]


class ResponseEvent(NamedTuple):
    """A response of a call, at the time it was sent."""

    ns: int
    outputs: tuple[TensorRef, ...]
    error: str
    number: int
    """Number of responses before it."""
    parameters: ParameterPairs = ()


class ResponseLog:
    """The first and latest responses of a call; those between are only counted.

    Values are bounded separately: a response without its values keeps its time, its
    error, and data types and shapes of its tensors.

    Parameters
    ----------
    max_items
        Maximum number of kept responses.
    max_bytes
        Maximum number of bytes of values; None: not even descriptions are kept.
    """

    __slots__ = ("_events", "_values", "errors")

    def __init__(self, max_items: int, max_bytes: int | None) -> None:
        self.errors = 0
        """Number of responses with an error."""
        self._events: Ends[ResponseEvent] = Ends(max_items, 0)
        self._values: Ends[tuple[int, tuple[TensorRef, ...]]] | None = None
        if max_bytes is not None:
            self._values = Ends(max_items, max_bytes)

    def __len__(self) -> int:
        """Return the number of kept responses."""
        return len(self._events)

    def __iter__(self) -> Iterator[ResponseEvent]:
        """Iterate over the kept responses, with their kept values."""
        values = {} if self._values is None else dict(self._values.items)
        for event in self._events.items:
            outputs = values.get(event.number)
            yield event if outputs is None else event._replace(outputs=outputs)

    @property
    def count(self) -> int:
        """Number of sent responses."""
        return self._events.count

    @property
    def held_bytes(self) -> int:
        """Bytes of the kept values."""
        return 0 if self._values is None else self._values.byte_size

    def add(
        self,
        ns: int,
        outputs: tuple[TensorRef, ...],
        error: str,
        parameters: ParameterPairs = (),
    ) -> None:
        """Add a response."""
        number = self._events.count
        self.errors += bool(error)
        described: tuple[TensorRef, ...] = ()
        if self._values is not None and outputs:
            described = tuple([ref.without_data() for ref in outputs])
            self._values.add((number, outputs), sum([ref.byte_size for ref in outputs]))
        self._events.add(ResponseEvent(ns, described, error, number, parameters))

    def shrink(self, max_items: int) -> None:
        """Lower the maximum number of kept responses."""
        self._events.shrink(max_items)
        if self._values is not None:
            self._values.shrink(max_items)

    def drop_values(self) -> None:
        """Keep descriptions only."""
        if self._values is not None:
            self._values = Ends(0, 0)

    def gap(self) -> str:
        """Return a sentence about responses that are not kept, if any."""
        left_out = self._events.left_out
        if not left_out:
            return ""
        first = self._events.first_count
        kept = sum(bool(event.error) for event in self._events.items)
        errors = self.errors - kept
        failed = f", {errors:,} of them with an error" if errors else ""
        return (
            f"Sent: {counted(self.count, 'response')}. Kept one by one: the first "
            f"{first:,} and the latest {len(self) - first:,}. Only counted: "
            f"{left_out:,}{failed}."
        )
