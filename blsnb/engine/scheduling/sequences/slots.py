"""Slots of sequences, and the requests that wait in them."""

from __future__ import annotations

from collections import deque
from typing import Generic, NamedTuple

from blsnb.engine.scheduling.batching.batch import Queued, T
from blsnb.engine.scheduling.sequences.rules import SequenceId
from blsnb.request_fields import SEQUENCE_END


class Slot(NamedTuple):
    """A place for one sequence at a time."""

    instance: int
    number: int


class FreeSlots:
    """The slots that no sequence has; the lowest number is given first.

    Which of the instances whose slot has the same number gets a sequence is what
    the C++ library makes of equal elements: this is its binary heap, step for step.

    References
    ----------
    core: src/sequence_batch_scheduler.h, BatcherSequenceSlotCompare
    libstdc++: bits/stl_heap.h, push_heap, pop_heap
    """

    def __init__(self, instance_count: int, slot_count: int) -> None:
        self._heap: list[Slot] = []
        for instance in range(instance_count):
            for number in range(slot_count):
                self.give_back(Slot(instance, number))

    def __len__(self) -> int:
        return len(self._heap)

    def give_back(self, slot: Slot) -> None:
        """Add a slot."""
        self._heap.append(slot)
        self._rise(len(self._heap) - 1, slot)

    def take(self) -> Slot:
        """Remove and return the next slot.

        Raises
        ------
        IndexError
            There is none.
        """
        last = self._heap.pop()
        if not self._heap:
            return last
        first = self._heap[0]
        self._rise(self._sink(), last)
        return first

    def _sink(self) -> int:
        """Move the hole at the top down to a leaf, and return where it is."""
        heap, hole = self._heap, 0
        while (right := 2 * hole + 2) <= len(heap):
            # Of two equal children the right one rises; the last may be alone.
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


class Turn(NamedTuple, Generic[T]):
    """A request and what it says of its sequence."""

    queued: Queued[T]
    sequence: SequenceId
    flags: int

    @property
    def ends(self) -> bool:
        """Whether its sequence ends with it."""
        return bool(self.flags & SEQUENCE_END)

    @property
    def cancelled(self) -> bool:
        """Whether its client gave it up."""
        return self.queued.cancelled()


Line = deque[Turn[T] | None]
"""A slot's requests in order; None where the sequence ends without a request."""


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
