"""Which requests of sequences form a batch, where and when."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import chain, islice
from typing import Generic

from blsnb.engine.scheduling.batching.batch import Cause, Decision, Queued, Reason, T
from blsnb.engine.scheduling.batching.forming_batch import MAX_LEFT_OUT
from blsnb.engine.scheduling.batching.policy_queue import US
from blsnb.engine.scheduling.sequences.assignment import SlotAssignment
from blsnb.engine.scheduling.sequences.backlog import NEVER_NS
from blsnb.engine.scheduling.sequences.direct import DirectSlots
from blsnb.engine.scheduling.sequences.instance_slots import (
    NOTHING,
    InstanceDecision,
    InstanceSlots,
    LeftOut,
    SequenceBatch,
)
from blsnb.engine.scheduling.sequences.oldest import OldestSlots
from blsnb.engine.scheduling.sequences.rules import SequenceId, not_alone
from blsnb.engine.scheduling.sequences.slots import SequenceRequest, Slot
from blsnb.model.config import ModelConfig
from blsnb.model.rules.instances import slots_of
from blsnb.printable import listed

_MAX_NAMED = 8


class SequenceBatcher(Generic[T]):
    """Forms batches of sequences; it neither waits nor starts threads.

    Parameters
    ----------
    config
        A normalised configuration with ``sequence_batching``.
    instance_count
        Number of instances, which are numbered from 0.
    explains
        Whether batches list the waiting requests that are not part of them.

    References
    ----------
    core: src/sequence_batch_scheduler.cc, SequenceBatchScheduler
    """

    def __init__(
        self, config: ModelConfig, instance_count: int, *, explains: bool = True
    ) -> None:
        batching = config.message.sequence_batching
        self._model = config.name
        slot_count = slots_of(config.message)
        idle_ns = batching.max_sequence_idle_microseconds * US
        self._assignment: SlotAssignment[T] = SlotAssignment(
            config.name, idle_ns, instance_count, slot_count
        )
        self._backlog = self._assignment.backlog
        self._explains = explains
        strategy = OldestSlots if batching.HasField("oldest") else DirectSlots
        self._instances: list[InstanceSlots[T]] = [
            strategy(number, slot_count, self._assignment, config, explains)
            for number in range(instance_count)
        ]
        self._changed: set[int] = set()
        """Instances that must decide again, whatever their state is."""
        self._idle: set[int] = set()
        self._wakes: dict[int, int] = {}
        """When instances must decide again."""
        self._waits: Decision[SequenceBatch[T], T] = Decision()
        """The last decision to do nothing."""

    def __len__(self) -> int:
        """Return the number of waiting requests."""
        return len(self._backlog) + sum(map(len, self._instances))

    def add(
        self, queued: Queued[T], correlation_id: SequenceId, flags: int, now_ns: int
    ) -> str:
        """Append a request; return the warning that Triton logs, if any.

        A rescheduled request of an iterative sequence is added again without flags
        before `done` is called for its batch.

        Raises
        ------
        SequenceRefused
            It has no correlation id, is a batch, or its sequence did not start.
        """
        if queued.size > 1 or not correlation_id:
            raise not_alone(self._model, queued.size)
        if now_ns >= self._assignment.reap_ns:
            self._end_idle(now_ns)
        queued.enqueued_ns = now_ns
        request = SequenceRequest(queued, correlation_id, flags)
        slot, warning = self._assignment.admit(request, now_ns)
        if slot is not None:
            self._put(slot, request, now_ns)
        return warning

    def _put(self, slot: Slot, request: SequenceRequest[T] | None, now_ns: int) -> None:
        self._changed.add(slot.instance)
        self._instances[slot.instance].put(slot.number, request, now_ns)

    def decide(
        self, now_ns: int, idle: Collection[int]
    ) -> Decision[SequenceBatch[T], T]:
        """Return what to do after any change; ``idle`` are the free instances.

        A request is also cancelled if others of its sequence were.
        """
        expired: tuple[Queued[T], ...] = ()
        if now_ns >= self._assignment.reap_ns:
            self._end_idle(now_ns)
        if now_ns >= self._backlog.expires_ns:
            expired = tuple(each.queued for each in self._backlog.expired(now_ns))
        decisions = self._decisions(now_ns, set(idle))
        cancelled = self._assignment.cancelled()
        wake_ns = self._wake_ns()
        if not (decisions or expired or cancelled):
            if wake_ns != self._waits.wake_ns:
                self._waits = Decision(wake_ns=wake_ns)
            return self._waits
        batches = []
        for decision in decisions:
            cancelled += decision.cancelled
            batch = decision.batch
            if batch is not None and self._explains:
                waiting = chain(decision.left_out, self._backlogged())
                batch = batch._replace(left_out=tuple(islice(waiting, MAX_LEFT_OUT)))
            if batch is not None:
                batches.append(batch)
        return Decision(tuple(batches), expired, tuple(cancelled), wake_ns)

    def _decisions(self, now_ns: int, idle: set[int]) -> list[InstanceDecision[T]]:
        """Return the decisions of the instances for which anything has changed."""
        changed, self._changed = self._changed, set()
        if idle != self._idle:
            changed |= idle ^ self._idle
        for number, ns in self._wakes.items():
            if ns <= now_ns:
                changed.add(number)
        self._idle = idle
        decisions = []
        for number in sorted(changed):
            decision = self._instances[number].decide(now_ns, number in idle)
            if decision is NOTHING:
                self._wakes.pop(number, None)
            else:
                self._note(number, decision)
                decisions.append(decision)
        return decisions

    def _note(self, number: int, decision: InstanceDecision[T]) -> None:
        """Note when an instance must decide again."""
        if decision.batch is not None:
            # The caller occupies it.
            self._idle.discard(number)
        if decision.watches:
            self._changed.add(number)
        if decision.wake_ns is None:
            self._wakes.pop(number, None)
        else:
            self._wakes[number] = decision.wake_ns

    def _wake_ns(self) -> int | None:
        wake_ns, expires_ns = self._assignment.reap_ns, self._backlog.expires_ns
        if expires_ns < wake_ns:
            wake_ns = expires_ns
        if self._wakes:
            wake_ns = min(wake_ns, *self._wakes.values())
        return None if wake_ns == NEVER_NS else wake_ns

    def done(self, batch: SequenceBatch[T], now_ns: int) -> None:
        """Continue the sequences of a batch that was executed."""
        members = [member for member in batch.members if member is not None]
        self._changed.add(batch.instance)
        self._instances[batch.instance].done(members, now_ns)

    def end(self, correlation_id: SequenceId, now_ns: int) -> None:
        """End the sequence of an iterative request that was answered, before `done`.

        Further requests of the sequence are cancelled.

        References
        ----------
        core: src/sequence_utils.cc, IterativeSequencer::RescheduleRequest
        """
        slot = self._assignment.slots.pop(correlation_id, None)
        if slot is not None:
            self._put(slot, None, now_ns)

    def _end_idle(self, now_ns: int) -> None:
        for slot in self._assignment.idle(now_ns):
            self._put(slot, None, now_ns)

    def _backlogged(self) -> Iterator[LeftOut[T]]:
        if len(self._backlog):
            words = f"its sequence waits in the backlog: {self._taken()}"
            reason = Reason(Cause.BACKLOG, words)
            yield from ((request.queued, reason) for request in self._backlog)

    def _taken(self) -> str:
        """Return a sentence that names the sequences with slots."""
        behind = chain.from_iterable(each.sequences() for each in self._instances)
        names = list(dict.fromkeys(map(str, chain(self._assignment.slots, behind))))
        return f"slots are taken by sequences {listed(names, _MAX_NAMED)}"
