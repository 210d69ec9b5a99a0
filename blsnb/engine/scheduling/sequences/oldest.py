"""The oldest strategy: a dynamic batcher over the sequences of each instance."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Generic

from blsnb.engine.scheduling.batching.batch import Batch, Queued, T
from blsnb.engine.scheduling.batching.dynamic_batcher import DynamicBatcher
from blsnb.engine.scheduling.sequences.assignment import Places
from blsnb.engine.scheduling.sequences.instance_slots import (
    ONE_AT_A_TIME,
    InstanceBatch,
    LeftOut,
    Look,
)
from blsnb.engine.scheduling.sequences.rules import SequenceId
from blsnb.engine.scheduling.sequences.slots import (
    Line,
    Slot,
    Turn,
    requests,
    take_out,
)
from blsnb.model.config import ModelConfig


class OldestInstance(Generic[T]):
    """The candidates of one instance: one request of each is with its batcher.

    Parameters
    ----------
    config
        As the model has it; the batcher is one for a single instance.

    References
    ----------
    core: src/sequence_batch_scheduler.cc, OldestSequenceBatch::CompleteAndNext
    """

    def __init__(
        self, number: int, slot_count: int, places: Places[T], config: ModelConfig
    ) -> None:
        self._number = number
        self._places = places
        self._lines: list[Line[T]] = [deque() for _ in range(slot_count)]
        self._batcher: DynamicBatcher[T] = DynamicBatcher(
            _as_dynamic(config), self._cancel
        )
        # A slot is busy while a request of it is with the batcher or executed.
        self._slots: dict[Queued[T], int] = {}
        self._busy = [False] * slot_count
        self._removed: list[Queued[T]] = []
        self._cancelled: list[Queued[T]] = []
        self._wake_ns: int | None = None

    def __len__(self) -> int:
        behind = sum(len(requests(line)) for line in self._lines)
        return behind + len(self._batcher)

    def put(self, slot: int, turn: Turn[T] | None, now_ns: int) -> None:
        """Append a request to a slot's line, or the end of the slot's sequence."""
        self._lines[slot].append(turn)
        if not self._busy[slot]:
            self._next(slot, now_ns)

    def done(self, members: Iterable[Queued[T]], now_ns: int) -> None:
        """Let the next request of each sequence go to the batcher.

        The batcher sees each as it comes, while the instance is still busy, so that it
        can join what is formed ahead. On Triton two threads race for this.
        """
        for queued in members:
            self._next(self._slots.pop(queued), now_ns)
            self._ask(now_ns, 0)

    def remove(self, queued: Queued[T]) -> bool:
        """Forget a request; False if it does not wait here."""
        if self._batcher.remove(queued):
            self._removed.append(queued)
            return True
        return any(take_out(line, queued) for line in self._lines)

    def sequences(self) -> Iterator[SequenceId]:
        """Yield, by slot, whose requests wait."""
        return (turn.sequence for line in self._lines for turn in requests(line)[:1])

    def look(self, now_ns: int, idle: bool) -> Look[T]:
        """Ask the batcher what the instance runs now."""
        removed, self._removed = self._removed, []
        self.done(removed, now_ns)
        batch = self._ask(now_ns, int(idle))
        cancelled, self._cancelled = self._cancelled, []
        leaving = None if batch is None else self._leaving(batch)
        return Look(leaving, tuple(cancelled), self._wake_ns)

    def _ask(self, now_ns: int, idle: int) -> Batch[T] | None:
        """Return the batch that starts now, if any."""
        decision = self._batcher.decide(now_ns, idle)
        self._wake_ns = decision.wake_ns
        return next(iter(decision.batches), None)

    def _cancel(self, queued: Queued[T], now_ns: int) -> None:
        """Let the next request of a cancelled one's sequence go to the batcher."""
        self._cancelled.append(queued)
        self._next(self._slots.pop(queued), now_ns)

    def _next(self, slot: int, now_ns: int) -> None:
        """Give the batcher the next request of a slot, which has none there."""
        line = self._lines[slot]
        self._busy[slot] = False
        while line:
            turn = line[0]
            if turn is not None and not turn.cancelled:
                line.popleft()
                self._slots[turn.queued] = slot
                self._busy[slot] = True
                self._batcher.add(turn.queued, now_ns)
                if turn.ends:
                    self._release(slot)
                return
            if turn is None:
                line.popleft()
            self._release(slot)

    def _release(self, slot: int) -> None:
        self._places.release(Slot(self._number, slot), self._lines[slot])

    def _leaving(self, batch: Batch[T]) -> InstanceBatch[T]:
        left_out = chain(batch.left_out, self._behind())
        return InstanceBatch(batch.members, batch.sent_because, left_out)

    def _behind(self) -> Iterator[LeftOut[T]]:
        for line in self._lines:
            for turn in requests(line):
                yield turn.queued, ONE_AT_A_TIME


def _as_dynamic(config: ModelConfig) -> ModelConfig:
    """Return the configuration with the settings of ``oldest`` as a dynamic batcher's.

    Triton makes one for each instance.
    """
    message = config.message
    oldest = config.message.sequence_batching.oldest
    batcher = message.dynamic_batching
    batcher.preferred_batch_size.extend(oldest.preferred_batch_size)
    batcher.max_queue_delay_microseconds = oldest.max_queue_delay_microseconds
    batcher.preserve_ordering = oldest.preserve_ordering
    batcher.SetInParent()
    del message.instance_group[1:]
    for group in message.instance_group:
        group.count = 1
        del group.gpus[1:]
    return ModelConfig.of(message)
