"""ResponseLog: the responses of one call, in memory that has a bound."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from blsnb.tensors.ref import TensorRef
from blsnb.trace.ends import Ends


class ResponseEvent(NamedTuple):
    """One response of a call, at the time it was sent."""

    ns: int
    outputs: tuple[TensorRef, ...]
    error: str
    number: int
    """How many were sent before it."""


class ResponseLog:
    """The first and the latest responses of a call; those between are counted.

    The values have a bound of their own, in bytes: of a response without its
    values the time, the error and the tensors' types and shapes remain.

    Parameters
    ----------
    most
        Number of responses kept at most.
    most_bytes
        Bytes of values kept at most; None if not even descriptions are kept.
    """

    __slots__ = ("_events", "_values", "errors")

    def __init__(self, most: int, most_bytes: int | None) -> None:
        self.errors = 0
        """How many responses were errors."""
        self._events: Ends[ResponseEvent] = Ends(most, 0)
        self._values: Ends[tuple[int, tuple[TensorRef, ...]]] | None = None
        if most_bytes is not None:
            self._values = Ends(most, most_bytes)

    def __len__(self) -> int:
        """Return the number of responses kept."""
        return len(self._events)

    def __iter__(self) -> Iterator[ResponseEvent]:
        """Iterate over the responses kept, with the values that are."""
        values = {} if self._values is None else dict(self._values.items)
        for event in self._events.items:
            outputs = values.get(event.number)
            yield event if outputs is None else event._replace(outputs=outputs)

    @property
    def count(self) -> int:
        """How many responses were sent."""
        return self._events.count

    @property
    def held_bytes(self) -> int:
        """Bytes of the values kept."""
        return 0 if self._values is None else self._values.byte_size

    def add(self, ns: int, outputs: tuple[TensorRef, ...], error: str) -> None:
        """Add a response that was sent at a time."""
        number = self._events.count
        self.errors += bool(error)
        described: tuple[TensorRef, ...] = ()
        if self._values is not None and outputs:
            described = tuple([ref.without_data() for ref in outputs])
            self._values.add((number, outputs), sum([ref.byte_size for ref in outputs]))
        self._events.add(ResponseEvent(ns, described, error, number))

    def shrink(self, most: int) -> None:
        """Keep no more than so many responses."""
        self._events.shrink(most)
        if self._values is not None:
            self._values.shrink(most)

    def drop_values(self) -> None:
        """Keep descriptions only."""
        if self._values is not None:
            self._values = Ends(0, 0)

    def gap(self) -> str:
        """Say in words what is not kept; nothing if all is."""
        left_out = self._events.left_out
        if not left_out:
            return ""
        first = self._events.first_count
        kept = sum(bool(event.error) for event in self._events.items)
        errors = self.errors - kept
        failed = f", {errors:,} of them with an error" if errors else ""
        return (
            f"{self.count:,} responses were sent. The first {first:,} and the latest "
            f"{len(self) - first:,} are kept one by one; the other {left_out:,} are "
            f"only counted{failed}."
        )
