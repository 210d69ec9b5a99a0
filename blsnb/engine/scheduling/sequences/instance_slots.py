"""What the sequence batcher asks of one instance, and what it hears."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, NamedTuple, Protocol

from blsnb.engine.scheduling.batching.batch import Cause, Queued, Reason, T
from blsnb.engine.scheduling.sequences.rules import SequenceId
from blsnb.engine.scheduling.sequences.slots import Turn

ONE_AT_A_TIME = Reason(
    Cause.ONE_AT_A_TIME, "stands behind another request of its slot: one at a time"
)

LeftOut = tuple[Queued[T], Reason]
"""A request that stays, and why."""


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
    sent_because: Reason
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
