"""Slots of sequences, and the requests that wait for them."""

from __future__ import annotations

from collections import deque
from typing import Generic, NamedTuple

from blsnb.engine.scheduling.batching.batch import Queued, T
from blsnb.engine.scheduling.sequences.rules import SequenceId
from blsnb.request_fields import SEQUENCE_END


class Slot(NamedTuple):
    """A slot of an instance, which serves one sequence at a time."""

    instance: int
    number: int


class FreeSlots:
    """Slots without a sequence; the lowest number is used first.

    Among instances with equal numbers the order is that of the binary heap of the
    C++ library, which is reproduced here.

    References
    ----------
    core: src/sequence_batch_scheduler.h, BatcherSequenceSlotCompare
    libstdc++: bits/stl_heap.h, push_heap, pop_heap
    """

    def __init__(self, instance_count: int, slot_count: int) -> None:
        self._heap: list[Slot] = []
        for instance in range(instance_count):
            for number in range(slot_count):
                self.add(Slot(instance, number))

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, slot: Slot) -> None:
        """Add a slot."""
        self._heap.append(slot)
        self._rise(len(self._heap) - 1, slot)

    def take(self) -> Slot:
        """Remove and return the next slot; raise IndexError without a free slot."""
        last = self._heap.pop()
        if not self._heap:
            return last
        first = self._heap[0]
        self._rise(self._sink(), last)
        return first

    def _sink(self) -> int:
        """Move the hole at the top down to a leaf, and return its index."""
        heap, hole = self._heap, 0
        while (right := 2 * hole + 2) <= len(heap):
            # Of two equal children the right one rises; the last may have no sibling.
            alone = right == len(heap)
            lower_left = alone or heap[right].number > heap[right - 1].number
            child = right - 1 if lower_left else right
            heap[hole] = heap[child]
            hole = child
        return hole

    def _rise(self, hole: int, slot: Slot) -> None:
        heap = self._heap
        while hole > 0:
            parent = (hole - 1) // 2
            if heap[parent].number <= slot.number:
                break
            heap[hole] = heap[parent]
            hole = parent
        heap[hole] = slot


class SequenceRequest(NamedTuple, Generic[T]):
    """A queued request with its sequence id and flags."""

    queued: Queued[T]
    sequence: SequenceId
    flags: int

    @property
    def ends(self) -> bool:
        """Whether it is the last request of its sequence."""
        return bool(self.flags & SEQUENCE_END)


class SlotQueue(deque[SequenceRequest[T] | None], Generic[T]):
    """A slot's requests in order; None where a sequence ends without a request."""

    @property
    def requests(self) -> list[SequenceRequest[T]]:
        """The requests without the end marks."""
        return [request for request in self if request is not None]
