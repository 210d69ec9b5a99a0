"""The direct strategy: each sequence keeps one place in its instance's batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Generic

import numpy as np

from blsnb.engine.scheduling.batching.batch import Cause, Queued, Reason, T
from blsnb.engine.scheduling.batching.batch_rules import EqualInputs
from blsnb.engine.scheduling.batching.policy_queue import US
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

_AT_ONCE = Reason(
    Cause.INSTANCE_FREE, "its instance is idle: slots with a request run at once"
)


@dataclass(frozen=True, slots=True)
class DirectRules:
    """The settings of the direct strategy.

    Parameters
    ----------
    utilization
        The share of slots that must have a request, unless one waited ``delay_ns``.
    """

    utilization: float
    delay_ns: int
    equal: EqualInputs

    @classmethod
    def of(cls, config: ModelConfig) -> DirectRules:
        """Read them."""
        direct = config.message.sequence_batching.direct
        return cls(
            direct.minimum_slot_utilization,
            direct.max_queue_delay_microseconds * US,
            EqualInputs.of(config),
        )

    def filled(self, ready: int, slots: int) -> bool:
        """Whether enough slots have a request; Triton divides in single precision."""
        return bool(np.float32(ready) / np.float32(slots) >= self.utilization)


class DirectInstance(Generic[T]):
    """The slots of one instance.

    References
    ----------
    core: src/sequence_batch_scheduler.cc, DirectSequenceBatch::BatcherThread
    """

    def __init__(
        self,
        number: int,
        slot_count: int,
        places: Places[T],
        rules: DirectRules,
    ) -> None:
        self._number = number
        self._places = places
        self._lines: list[Line[T]] = [deque() for _ in range(slot_count)]
        self._rules = rules

    def __len__(self) -> int:
        return sum(len(requests(line)) for line in self._lines)

    def put(self, slot: int, turn: Turn[T] | None, now_ns: int) -> None:
        """Append a request to a slot's line, or the end of the slot's sequence."""
        self._lines[slot].append(turn)

    def remove(self, queued: Queued[T]) -> bool:
        """Forget a request; False if it does not wait here."""
        return any(take_out(line, queued) for line in self._lines)

    def done(self, members: Iterable[Queued[T]], now_ns: int) -> None:
        """Nothing waits for it: the instance is asked again once it is idle."""

    def sequences(self) -> Iterator[SequenceId]:
        """Yield, by slot, whose requests wait."""
        return (turn.sequence for line in self._lines for turn in requests(line)[:1])

    def look(self, now_ns: int, idle: bool) -> Look[T]:
        """Return what the instance runs now, if it is idle and there is something."""
        if not idle:
            return Look()
        self._clear()
        ready = [slot for slot, line in enumerate(self._lines) if line]
        if not ready:
            return Look()
        because, wake_ns = self._because(ready, now_ns)
        if because is None:
            return Look(wake_ns=wake_ns)
        members = self._members(ready)
        return Look(InstanceBatch(members, because, self._left_out(members)))

    def _clear(self) -> None:
        """Release slots whose sequence ended without a request, or was cancelled."""
        for number, line in enumerate(self._lines):
            if line and (line[0] is None or line[0].cancelled):
                if line[0] is None:
                    line.popleft()
                self._places.release(Slot(self._number, number), line)

    def _because(
        self, ready: list[int], now_ns: int
    ) -> tuple[Reason | None, int | None]:
        """Return why to run now; else None, and when to run at the latest."""
        rules = self._rules
        if not rules.delay_ns or not rules.utilization:
            return _AT_ONCE, None
        said = f"{len(ready)} of {len(self._lines)} slots have a request"
        if rules.filled(len(ready), len(self._lines)):
            words = f"{said}: minimum_slot_utilization is {rules.utilization:g}"
            return Reason(Cause.SLOTS_FILLED, words), None
        oldest_ns = min(self._front(slot).queued.enqueued_ns for slot in ready)
        due_ns = oldest_ns + rules.delay_ns + 1
        if now_ns >= due_ns:
            words = f"{said}, and the delay of {rules.delay_ns // US} µs was over"
            return Reason(Cause.DELAY_OVER, words), None
        return None, due_ns

    def _members(self, ready: list[int]) -> tuple[Queued[T] | None, ...]:
        first = self._front(ready[0]).queued
        return tuple(self._take(slot, first) for slot in range(ready[-1] + 1))

    def _take(self, number: int, first: Queued[T]) -> Queued[T] | None:
        line = self._lines[number]
        if not line:
            return None
        turn = self._front(number)
        if self._rules.equal.difference(first, turn.queued):
            return None
        line.popleft()
        if turn.ends:
            self._places.release(Slot(self._number, number), line)
        return turn.queued

    def _left_out(self, members: tuple[Queued[T] | None, ...]) -> Iterator[LeftOut[T]]:
        first = next(member for member in members if member is not None)
        for slot, line in enumerate(self._lines):
            taken = slot < len(members) and members[slot] is not None
            for place, turn in enumerate(requests(line)):
                if taken or place:
                    yield turn.queued, ONE_AT_A_TIME
                else:
                    difference = self._rules.equal.difference(first, turn.queued)
                    yield turn.queued, difference or ONE_AT_A_TIME

    def _front(self, slot: int) -> Turn[T]:
        turn = self._lines[slot][0]
        assert turn is not None
        return turn
