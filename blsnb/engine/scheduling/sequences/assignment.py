"""Which sequence has which slot, and for how long."""

from __future__ import annotations

from typing import Generic

from blsnb.engine.scheduling.batching.batch import Queued, T
from blsnb.engine.scheduling.batching.policy_queue import US
from blsnb.engine.scheduling.sequences.backlog import NEVER_NS, Backlog
from blsnb.engine.scheduling.sequences.rules import SequenceId, conflict, no_start
from blsnb.engine.scheduling.sequences.slots import (
    FreeSlots,
    SequenceRequest,
    Slot,
    SlotQueue,
)
from blsnb.request_fields import SEQUENCE_START

_BACKLOG_CHECK_NS = 50_000_000


class SlotAssignment(Generic[T]):
    """Assigns slots to sequences at their start, and releases them.

    Parameters
    ----------
    model
        The model's name, for texts.
    idle_ns
        Time after the arrival of its last request at which a sequence loses its
        slot, even if the request still waits or runs.

    References
    ----------
    core: src/sequence_batch_scheduler.cc, SequenceBatchScheduler::Enqueue,
    ReleaseSequenceSlot, ReaperThread
    """

    def __init__(
        self, model: str, idle_ns: int, instance_count: int, slot_count: int
    ) -> None:
        self._model = model
        self._idle_ns = idle_ns
        self._free = FreeSlots(instance_count, slot_count)
        self.slots: dict[SequenceId, Slot] = {}
        """Slots of the sequences that have not ended."""
        self._last_ns: dict[SequenceId, int] = {}
        """Arrival of the last request of each sequence, the longest ago first."""
        self.reap_ns = NEVER_NS
        """When `idle` may find a sequence."""
        self.backlog: Backlog[T] = Backlog()
        self._cancelled: list[Queued[T]] = []

    def admit(
        self, request: SequenceRequest[T], now_ns: int
    ) -> tuple[Slot | None, str]:
        """Return the slot for a request, and the warning that Triton logs.

        Without a free slot the request joins the backlog.

        Raises
        ------
        SequenceRefused
            The sequence did not start.
        """
        sequence, starts = request.sequence, request.flags & SEQUENCE_START
        slot = self.slots.get(sequence)
        known = slot is not None or sequence in self.backlog
        if not starts and not known:
            raise no_start(self._model, sequence)
        self._last_ns.pop(sequence, None)
        self._last_ns[sequence] = now_ns
        if self.reap_ns == NEVER_NS:
            self.reap_ns = now_ns + self._idle_ns
        warning = conflict(self._model, sequence) if starts and known else ""
        return self._assign(request, slot, known, now_ns), warning

    def _assign(
        self, request: SequenceRequest[T], slot: Slot | None, known: bool, now_ns: int
    ) -> Slot | None:
        if slot is None:
            if known or not self._free:
                self.backlog.add(request, now_ns)
                return None
            slot = self.slots[request.sequence] = self._free.take()
        if request.ends:
            # A later start with the same id is another sequence.
            del self.slots[request.sequence]
        return slot

    def release(self, slot: Slot, queue: SlotQueue[T]) -> None:
        """Release a slot, and assign it to the sequence that has waited longest.

        Remaining requests of the slot's queue are cancelled with their sequence; the
        queue then holds the requests of the next one.
        """
        if queue:
            self._cancel(slot, queue.requests)
            queue.clear()
        while (waiting := self.backlog.pop()) is not None:
            requests = waiting.queue.requests
            if waiting.cancelled:
                self._cancel(slot, requests)
                continue
            if not requests[-1].ends:
                self.slots[requests[-1].sequence] = slot
            queue.extend(requests)
            return
        self._free.add(slot)

    def _cancel(self, slot: Slot, requests: list[SequenceRequest[T]]) -> None:
        self._cancelled += [request.queued for request in requests]
        if requests and self.slots.get(requests[0].sequence) == slot:
            del self.slots[requests[0].sequence]
            del self._last_ns[requests[0].sequence]

    def cancelled(self) -> list[Queued[T]]:
        """Return, once, the requests that were cancelled with their sequence."""
        cancelled, self._cancelled = self._cancelled, []
        return cancelled

    def idle(self, now_ns: int) -> list[Slot]:
        """Remove sequences that were idle too long, and return their slots.

        A sequence in the backlog stays and is checked again soon: it loses its slot
        shortly after it gets one, unless it sends another request.
        """
        if now_ns < self.reap_ns:
            return []
        wait_ns, lost, over = self._idle_ns, [], []
        for sequence, last_ns in self._last_ns.items():
            left_ns = self._idle_ns - (now_ns - last_ns)
            if left_ns > 0:
                # All further sequences had a later request.
                wait_ns = min(wait_ns, left_ns + US)
                break
            if sequence in self.slots:
                lost.append(self.slots.pop(sequence))
            elif sequence in self.backlog:
                wait_ns = min(wait_ns, _BACKLOG_CHECK_NS)
                continue
            over.append(sequence)
        for sequence in over:
            del self._last_ns[sequence]
        self.reap_ns = now_ns + wait_ns if self._last_ns else NEVER_NS
        return lost
