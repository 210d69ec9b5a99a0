"""The oldest strategy: a dynamic batcher over the sequences of each instance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from blsnb.engine.scheduling.batching.batch import Batch, Queued, T
from blsnb.engine.scheduling.batching.dynamic_batcher import DynamicBatcher
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


class OldestSlots(InstanceSlots[T]):
    """Candidate sequences of one instance; its batcher has one request of each.

    References
    ----------
    core: src/sequence_batch_scheduler.cc, OldestSequenceBatch::CompleteAndNext
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
        self._batcher: DynamicBatcher[T] = DynamicBatcher(
            _as_dynamic(config), self._cancel, explains=explains
        )
        # A slot is busy while the batcher has a request of it, or it is executed.
        self._slot_of: dict[Queued[T], int] = {}
        self._busy = [False] * slot_count
        self._cancelled: list[Queued[T]] = []
        self._wake_ns: int | None = None

    def __len__(self) -> int:
        return super().__len__() + len(self._batcher)

    def put(self, slot: int, request: SequenceRequest[T] | None, now_ns: int) -> None:
        """Append a request, or None for the end of the slot's sequence."""
        self._queues[slot].append(request)
        if not self._busy[slot]:
            self._next(slot, now_ns)

    def done(self, members: Iterable[Queued[T]], now_ns: int) -> None:
        """Hand the next request of each sequence to the batcher.

        The batcher gets them one by one while the instance is still busy, so that they
        can join a batch formed ahead. On Triton two threads race for this.
        """
        for queued in members:
            self._next(self._slot_of.pop(queued), now_ns)
            self._batch(now_ns, 0)

    def decide(self, now_ns: int, idle: bool) -> InstanceDecision[T]:
        """Return what the batcher runs on the instance now."""
        found = self._batch(now_ns, int(idle))
        cancelled, self._cancelled = tuple(self._cancelled), []
        if found is None:
            if not cancelled and self._wake_ns is None:
                return NOTHING
            return InstanceDecision(None, cancelled, self._wake_ns)
        left_out = chain(found.left_out, self._behind()) if self._explains else ()
        batch = SequenceBatch(self._number, found.members, found.sent_because)
        return InstanceDecision(batch, cancelled, self._wake_ns, left_out=left_out)

    def _batch(self, now_ns: int, idle: int) -> Batch[T] | None:
        """Return the batch to start, if any; advance slots of cancelled requests."""
        decision = self._batcher.decide(now_ns, idle)
        self._wake_ns = decision.wake_ns
        return decision.batches[0] if decision.batches else None

    def _cancel(self, queued: Queued[T], now_ns: int) -> None:
        """Let the next request of a cancelled one's sequence go to the batcher."""
        self._cancelled.append(queued)
        self._next(self._slot_of.pop(queued), now_ns)

    def _next(self, slot: int, now_ns: int) -> None:
        """Hand the next request of a free slot to the batcher."""
        queue = self._queues[slot]
        self._busy[slot] = False
        while queue:
            request = queue[0]
            if request is not None and not request.queued.cancelled():
                queue.popleft()
                self._slot_of[request.queued] = slot
                self._busy[slot] = True
                self._batcher.add(request.queued, now_ns)
                if request.ends:
                    self._release(slot)
                return
            self._release(slot)

    def _behind(self) -> Iterator[LeftOut[T]]:
        for queue in self._queues:
            for request in queue.requests:
                yield request.queued, ONE_AT_A_TIME


def _as_dynamic(config: ModelConfig) -> ModelConfig:
    """Return the configuration of an instance's dynamic batcher from ``oldest``."""
    message = config.message
    oldest = config.message.sequence_batching.oldest
    batcher = message.dynamic_batching
    batcher.preferred_batch_size.extend(oldest.preferred_batch_size)
    batcher.max_queue_delay_microseconds = oldest.max_queue_delay_microseconds
    batcher.preserve_ordering = oldest.preserve_ordering
    # Without groups there is one instance.
    message.ClearField("instance_group")
    return ModelConfig.of(message)
