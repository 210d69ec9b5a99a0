"""The direct strategy: each sequence keeps one slot in its instance's batches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from blsnb.engine.scheduling.batching.batch import Cause, Queued, Reason, T
from blsnb.engine.scheduling.batching.batch_rules import EqualInputs
from blsnb.engine.scheduling.batching.policy_queue import US
from blsnb.engine.scheduling.sequences.assignment import SlotAssignment
from blsnb.engine.scheduling.sequences.instance_slots import (
    NOTHING,
    ONE_AT_A_TIME,
    InstanceDecision,
    InstanceSlots,
    LeftOut,
    SequenceBatch,
)
from blsnb.engine.scheduling.sequences.slots import SequenceRequest
from blsnb.model.config import ModelConfig

_AT_ONCE = Reason(
    Cause.INSTANCE_FREE, "its instance is idle: slots with a request run at once"
)


class DirectSlots(InstanceSlots[T]):
    """The slots of one instance.

    References
    ----------
    core: src/sequence_batch_scheduler.cc, DirectSequenceBatch::BatcherThread
    """

    def __init__(
        self,
        number: int,
        slot_count: int,
        assignment: SlotAssignment[T],
        config: ModelConfig,
        explains: bool,
    ) -> None:
        super().__init__(number, slot_count, assignment, config, explains)
        direct = config.message.sequence_batching.direct
        self._utilization = direct.minimum_slot_utilization
        """Share of slots that must have a request, unless one waited too long."""
        self._delay_ns = direct.max_queue_delay_microseconds * US
        self._equal = EqualInputs.of(config)

    def decide(self, now_ns: int, idle: bool) -> InstanceDecision[T]:
        """Return the batch to run now, if the instance is idle."""
        if not idle:
            return NOTHING
        self._clear()
        ready = [slot for slot, queue in enumerate(self._queues) if queue]
        if not ready:
            return NOTHING
        because, wake_ns = self._because(ready, now_ns)
        if because is None:
            return InstanceDecision(wake_ns=wake_ns, watches=True)
        members = self._members(ready)
        left_out = self._left_out(members) if self._explains else ()
        batch = SequenceBatch(self._number, members, because)
        return InstanceDecision(batch, left_out=left_out)

    def _clear(self) -> None:
        """Release slots whose sequence ended without a request or was cancelled."""
        for number, queue in enumerate(self._queues):
            if queue and ((first := queue[0]) is None or first.queued.cancelled()):
                self._release(number)

    def _because(
        self, ready: list[int], now_ns: int
    ) -> tuple[Reason | None, int | None]:
        """Return the reason to run now; else None and the latest time to run."""
        delay_ns, utilization = self._delay_ns, self._utilization
        if not delay_ns or not utilization:
            return _AT_ONCE, None
        slot_count = len(self._queues)
        said = f"requests are in {len(ready)} of {slot_count} slots"
        # In single precision, as on Triton.
        if np.float32(len(ready)) / np.float32(slot_count) >= utilization:
            words = f"{said}: minimum_slot_utilization is {utilization:g}"
            return Reason(Cause.SLOTS_FILLED, words), None
        oldest_ns = min(self._front(slot).queued.enqueued_ns for slot in ready)
        due_ns = oldest_ns + delay_ns + 1
        if now_ns >= due_ns:
            words = f"{said}, and the delay of {delay_ns // US} µs was over"
            return Reason(Cause.DELAY_OVER, words), None
        return None, due_ns

    def _members(self, ready: list[int]) -> tuple[Queued[T] | None, ...]:
        first = self._front(ready[0]).queued
        members: list[Queued[T] | None] = [None] * (ready[-1] + 1)
        for number in ready:
            request = self._front(number)
            if self._equal.difference(first, request.queued):
                continue
            self._queues[number].popleft()
            if request.ends:
                self._release(number)
            members[number] = request.queued
        return tuple(members)

    def _left_out(self, members: tuple[Queued[T] | None, ...]) -> Iterator[LeftOut[T]]:
        first = next(member for member in members if member is not None)
        for slot, queue in enumerate(self._queues):
            taken = slot < len(members) and members[slot] is not None
            for place, request in enumerate(queue.requests):
                if taken or place:
                    yield request.queued, ONE_AT_A_TIME
                else:
                    difference = self._equal.difference(first, request.queued)
                    yield request.queued, difference or ONE_AT_A_TIME

    def _front(self, slot: int) -> SequenceRequest[T]:
        request = self._queues[slot][0]
        assert request is not None
        return request
