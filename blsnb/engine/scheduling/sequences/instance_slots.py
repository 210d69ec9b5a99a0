"""The slots of one instance, as the sequence batcher sees them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Generic, NamedTuple

from blsnb.engine.scheduling.batching.batch import Cause, Queued, Reason, T
from blsnb.engine.scheduling.sequences.assignment import SlotAssignment
from blsnb.engine.scheduling.sequences.rules import SequenceId
from blsnb.engine.scheduling.sequences.slots import SequenceRequest, Slot, SlotQueue
from blsnb.model.config import ModelConfig

ONE_AT_A_TIME = Reason(
    Cause.ONE_AT_A_TIME, "stands behind another request of its slot: one at a time"
)

LeftOut = tuple[Queued[T], Reason]
"""A request that stays, with the reason."""


class SequenceBatch(NamedTuple, Generic[T]):
    """Requests for one ``execute`` of one instance.

    Parameters
    ----------
    instance
        Index of the instance that must run it.
    members
        By slot; None for a null request, which has the shapes of the first request.
    sent_because
        Why it starts now.
    left_out
        The first waiting requests that are not part of it, each with the reason.
    """

    instance: int
    members: tuple[Queued[T] | None, ...]
    sent_because: Reason
    left_out: tuple[LeftOut[T], ...] = ()


class InstanceDecision(NamedTuple, Generic[T]):
    """What one instance does now.

    Parameters
    ----------
    cancelled
        Requests that were cancelled.
    wake_ns
        When to decide again if nothing happens before; None: never.
    watches
        Whether to decide again after any change: a waiting request may be cancelled.
    left_out
        Requests that wait for the same instance, if batches list them.
    """

    batch: SequenceBatch[T] | None = None
    cancelled: tuple[Queued[T], ...] = ()
    wake_ns: int | None = None
    watches: bool = False
    left_out: Iterable[LeftOut[T]] = ()


NOTHING: InstanceDecision[Any] = InstanceDecision()


class InstanceSlots(ABC, Generic[T]):
    """The slots of one instance with their queues, under one strategy.

    Parameters
    ----------
    config
        The model's, which has the settings of the strategy.
    explains
        Whether batches list the waiting requests that are not part of them.
    """

    def __init__(
        self,
        number: int,
        slot_count: int,
        assignment: SlotAssignment[T],
        config: ModelConfig,
        explains: bool,
    ) -> None:
        self._number = number
        self._assignment = assignment
        self._explains = explains
        self._queues: list[SlotQueue[T]] = [SlotQueue() for _ in range(slot_count)]
        self._slots = [Slot(number, slot) for slot in range(slot_count)]

    def __len__(self) -> int:
        """Return the number of waiting requests."""
        return sum(len(queue) - queue.count(None) for queue in self._queues)

    def put(self, slot: int, request: SequenceRequest[T] | None, now_ns: int) -> None:
        """Append a request, or None for the end of the slot's sequence."""
        self._queues[slot].append(request)

    @abstractmethod
    def decide(self, now_ns: int, idle: bool) -> InstanceDecision[T]:
        """Return what to do now."""

    def done(self, members: Iterable[Queued[T]], now_ns: int) -> None:
        """Note that requests were executed."""

    def sequences(self) -> Iterator[SequenceId]:
        """Yield the sequences with waiting requests, by slot."""
        return (
            request.sequence for queue in self._queues for request in queue.requests[:1]
        )

    def _release(self, slot: int) -> None:
        self._assignment.release(self._slots[slot], self._queues[slot])
