"""Which requests of which sequences leave together, on which instance, and when."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import chain, islice
from typing import Generic, NamedTuple

from blsnb.engine.scheduling.batching.batch import Cause, Queued, Reason, T
from blsnb.engine.scheduling.batching.forming_batch import MOST_LEFT_OUT
from blsnb.engine.scheduling.batching.policy_queue import US
from blsnb.engine.scheduling.sequences.assignment import Places
from blsnb.engine.scheduling.sequences.direct import DirectInstance, DirectRules
from blsnb.engine.scheduling.sequences.instance_slots import Instance, LeftOut, Look
from blsnb.engine.scheduling.sequences.oldest import OldestInstance
from blsnb.engine.scheduling.sequences.rules import SequenceId, check_alone
from blsnb.engine.scheduling.sequences.slots import Turn
from blsnb.model.config import ModelConfig

_MOST_NAMED = 8


class SequenceBatch(NamedTuple, Generic[T]):
    """Requests for one ``execute`` of one instance.

    Parameters
    ----------
    instance
        The index of the instance that must run it.
    members
        By slot; None for a null request, which has the shapes of the first that is
        none.
    sent_because
        Why it leaves now.
    left_out
        Who waits and was not taken, each with the reason; the first few
        dozen where many wait.
    """

    instance: int
    members: tuple[Queued[T] | None, ...]
    sent_because: Reason
    left_out: tuple[LeftOut[T], ...] = ()


class SequenceDecision(NamedTuple, Generic[T]):
    """What to do now.

    Parameters
    ----------
    batches
        To be started now.
    rejected
        To be answered with ``EXPIRED``, status UNAVAILABLE.
    cancelled
        To be answered with status CANCELLED and no text: the client of this request,
        or of another one of its sequence, gave up.
    wake_ns
        When to ask again if nothing else happens; None for not before something does.
    """

    batches: tuple[SequenceBatch[T], ...] = ()
    rejected: tuple[Queued[T], ...] = ()
    cancelled: tuple[Queued[T], ...] = ()
    wake_ns: int | None = None


class SequenceBatcher(Generic[T]):
    """Decide which requests of sequences run next; never wait, never start a thread.

    Parameters
    ----------
    config
        A normalised configuration with ``sequence_batching``.
    instance_count
        How many instances there are; they are numbered from 0.

    References
    ----------
    core: src/sequence_batch_scheduler.cc, SequenceBatchScheduler
    """

    def __init__(self, config: ModelConfig, instance_count: int) -> None:
        batching = config.message.sequence_batching
        self._model = config.name
        slot_count = max(1, config.max_batch_size)
        if batching.HasField("oldest"):
            # Without a number Triton takes that of `direct`.
            slot_count = batching.oldest.max_candidate_sequences or slot_count
        idle_ns = batching.max_sequence_idle_microseconds * US
        self._places: Places[T] = Places(
            config.name, idle_ns, instance_count, slot_count
        )
        self._instances = [
            self._instance(number, slot_count, config)
            for number in range(instance_count)
        ]

    def __repr__(self) -> str:
        instances = len(self._instances)
        return f"<SequenceBatcher: {len(self)} waiting for {instances} instances>"

    def __len__(self) -> int:
        """How many wait; those that are executed do not count."""
        return len(self._places.backlog) + sum(map(len, self._instances))

    def add(
        self, queued: Queued[T], correlation_id: SequenceId, flags: int, now_ns: int
    ) -> str:
        """Let a request wait for its turn.

        A request of an iterative sequence that runs again is added again, with no
        flags, before `done` is told of its batch.

        Returns
        -------
        str
            What Triton logs as a warning; mostly nothing.

        Raises
        ------
        SequenceRefused
            It is in no sequence, is a batch, or its sequence did not start.
        """
        check_alone(self._model, correlation_id, queued.batch_size)
        self._end_idle(now_ns)
        queued.enqueued_ns = now_ns
        turn = Turn(queued, correlation_id, flags)
        slot, warning = self._places.admit(turn, now_ns)
        if slot is not None:
            self._instances[slot.instance].put(slot.number, turn, now_ns)
        return warning

    def decide(self, now_ns: int, idle: Collection[int]) -> SequenceDecision[T]:
        """Say what to do now, after whatever happened.

        Parameters
        ----------
        idle
            The instances that are free.
        """
        self._end_idle(now_ns)
        expired = [turn.queued for turn in self._places.backlog.expired(now_ns)]
        looks = [
            instance.look(now_ns, number in idle)
            for number, instance in enumerate(self._instances)
        ]
        cancelled = [queued for look in looks for queued in look.cancelled]
        wakes = [self._places.wake_ns, *(look.wake_ns for look in looks)]
        return SequenceDecision(
            tuple(self._batches(looks)),
            tuple(expired),
            (*self._places.cancelled(), *cancelled),
            min((wake for wake in wakes if wake is not None), default=None),
        )

    def done(self, batch: SequenceBatch[T], now_ns: int) -> None:
        """Learn that a batch was executed: its sequences go on."""
        members = [member for member in batch.members if member is not None]
        self._instances[batch.instance].done(members, now_ns)

    def end(self, correlation_id: SequenceId, now_ns: int) -> None:
        """Learn that an iterative request was answered: its sequence is over.

        Told before `done`. What else came for the sequence is cancelled with it.

        References
        ----------
        core: src/sequence_utils.cc, IterativeSequencer::RescheduleRequest
        """
        slot = self._places.end(correlation_id)
        if slot is not None:
            self._instances[slot.instance].put(slot.number, None, now_ns)

    def remove(self, queued: Queued[T]) -> bool:
        """Forget a request; False if it is not, or no longer, waiting here."""
        return self._places.backlog.remove(queued) or any(
            instance.remove(queued) for instance in self._instances
        )

    def _instance(
        self, number: int, slot_count: int, config: ModelConfig
    ) -> Instance[T]:
        if config.message.sequence_batching.HasField("oldest"):
            return OldestInstance(number, slot_count, self._places, config)
        rules = DirectRules.of(config)
        return DirectInstance(number, slot_count, self._places, rules)

    def _end_idle(self, now_ns: int) -> None:
        for slot in self._places.idle(now_ns):
            self._instances[slot.instance].put(slot.number, None, now_ns)

    def _batches(self, looks: list[Look[T]]) -> Iterator[SequenceBatch[T]]:
        for number, look in enumerate(looks):
            if look.batch is not None:
                left_out = chain(look.batch.left_out, self._backlogged())
                yield SequenceBatch(
                    number,
                    look.batch.members,
                    look.batch.sent_because,
                    tuple(islice(left_out, MOST_LEFT_OUT)),
                )

    def _backlogged(self) -> Iterator[LeftOut[T]]:
        backlog = self._places.backlog
        if len(backlog):
            words = f"its sequence waits in the backlog: {self._taken()}"
            reason = Reason(Cause.BACKLOG, words)
            yield from ((turn.queued, reason) for turn in backlog)

    def _taken(self) -> str:
        """Return in words who has the slots."""
        behind = chain.from_iterable(each.sequences() for each in self._instances)
        names = list(dict.fromkeys(map(str, chain(self._places.holders, behind))))
        more = ", …" if len(names) > _MOST_NAMED else ""
        return f"slots are taken by sequences {', '.join(names[:_MOST_NAMED])}{more}"
