"""One request of a sequence, the line where it waits, the batch in which it leaves."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Generic, NamedTuple, Protocol

from blsnb.scheduling.queued import Queued, T
from blsnb.scheduling.sequence_rules import END, SequenceId


class Turn(NamedTuple, Generic[T]):
    """A request and what it says of its sequence."""

    queued: Queued[T]
    sequence: SequenceId
    flags: int

    @property
    def ends(self) -> bool:
        """Whether its sequence ends with it."""
        return bool(self.flags & END)

    @property
    def cancelled(self) -> bool:
        """Whether its client gave it up."""
        return self.queued.cancelled()


Line = deque[Turn[T] | None]
"""A slot's requests in order; None where the sequence ends without a request."""


ONE_AT_A_TIME = "stands behind another request of its slot: one at a time"

LeftOut = tuple[Queued[T], str]
"""A request that stays, and why, in words."""


class InstanceBatch(NamedTuple, Generic[T]):
    """What one instance runs now.

    Parameters
    ----------
    members
        Requests; None for a null request.
    left_out
        Who waits for the same instance, and why.
    """

    members: tuple[Queued[T] | None, ...]
    sent_because: str
    left_out: Iterator[LeftOut[T]]


class Look(NamedTuple, Generic[T]):
    """What one instance does now.

    Parameters
    ----------
    cancelled
        Requests that nobody wants any more.
    wake_ns
        When to look again if nothing happens; None for no such time.
    """

    batch: InstanceBatch[T] | None = None
    cancelled: tuple[Queued[T], ...] = ()
    wake_ns: int | None = None


class Instance(Protocol[T]):
    """The slots of one instance, under one strategy."""

    def __len__(self) -> int:
        """How many requests wait."""

    def put(self, slot: int, turn: Turn[T] | None, now_ns: int) -> None:
        """Append a request to a slot's line, or the end of the slot's sequence."""

    def look(self, now_ns: int, idle: bool) -> Look[T]:
        """Decide what to do now."""

    def done(self, members: Iterable[Queued[T]], now_ns: int) -> None:
        """Learn that these were executed."""

    def remove(self, queued: Queued[T]) -> bool:
        """Forget a request; False if it does not wait here."""

    def sequences(self) -> Iterator[SequenceId]:
        """Yield, by slot, whose requests wait."""


def requests(line: Line[T]) -> list[Turn[T]]:
    """Return a line without its end marks."""
    return [turn for turn in line if turn is not None]


def take_out(line: Line[T] | deque[Turn[T]], queued: Queued[T]) -> bool:
    """Remove a request from a line; False if it is not in it."""
    for position, turn in enumerate(line):
        if turn is not None and turn.queued is queued:
            del line[position]
            return True
    return False
