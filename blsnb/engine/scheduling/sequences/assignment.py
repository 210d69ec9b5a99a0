"""Which sequence has which slot, for how long, and who waits for one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic

from blsnb.engine.scheduling.batching.batch import Queued, T
from blsnb.engine.scheduling.batching.policy_queue import US
from blsnb.engine.scheduling.sequences.backlog import Backlog
from blsnb.engine.scheduling.sequences.rules import SequenceId, conflict, no_start
from blsnb.engine.scheduling.sequences.slots import (
    FreeSlots,
    Line,
    Slot,
    Turn,
    requests,
)
from blsnb.request_fields import SEQUENCE_START

_LOOK_AGAIN_NS = 50_000_000


class Places(Generic[T]):
    """Gives slots to sequences as they start and takes them back.

    Parameters
    ----------
    model
        The model's name, for texts.
    idle_ns
        A sequence that sends nothing for so long loses its slot. Counted from a
        request's arrival, however long it then waits or runs.

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
        self._slots: dict[SequenceId, Slot] = {}
        self._last_ns: dict[SequenceId, int] = {}
        self._reap_ns: int | None = None
        self.backlog: Backlog[T] = Backlog()
        self._cancelled: list[Queued[T]] = []

    @property
    def holders(self) -> Iterator[SequenceId]:
        """The sequences that have a slot and go on."""
        return iter(self._slots)

    def admit(self, turn: Turn[T], now_ns: int) -> tuple[Slot | None, str]:
        """Return the slot in whose line a request waits, and what Triton logs.

        Without a slot it was put into the backlog.

        Raises
        ------
        SequenceRefused
            The sequence did not start.
        """
        sequence, starts = turn.sequence, bool(turn.flags & SEQUENCE_START)
        known = sequence in self._slots or sequence in self.backlog
        if not starts and not known:
            raise no_start(self._model, sequence)
        self._last_ns[sequence] = now_ns
        if self._reap_ns is None:
            self._reap_ns = now_ns + self._idle_ns
        warning = conflict(self._model, sequence) if starts and known else ""
        return self._assign(turn, now_ns), warning

    def _assign(self, turn: Turn[T], now_ns: int) -> Slot | None:
        slot = self._slots.get(turn.sequence)
        if slot is None:
            if turn.sequence in self.backlog or not self._free:
                self.backlog.add(turn, now_ns)
                return None
            slot = self._slots[turn.sequence] = self._free.take()
        if turn.ends:
            # A start of the same id from now on is another sequence.
            del self._slots[turn.sequence]
        return slot

    def end(self, sequence: SequenceId) -> Slot | None:
        """Forget a sequence that has a slot, and return that slot."""
        return self._slots.pop(sequence, None)

    def release(self, slot: Slot, line: Line[T]) -> None:
        """Take a slot back and give it to the sequence that waits longest.

        Parameters
        ----------
        line
            The slot's requests. What is left there is cancelled with its sequence;
            afterwards it holds the requests of the next one.
        """
        self._cancel(slot, requests(line))
        line.clear()
        while (waiting := self.backlog.pop()) is not None:
            turns = list(waiting.turns)
            if waiting.cancelled:
                self._cancel(slot, turns)
                continue
            if not turns[-1].ends:
                self._slots[turns[-1].sequence] = slot
            line.extend(turns)
            return
        self._free.give_back(slot)

    def _cancel(self, slot: Slot, turns: list[Turn[T]]) -> None:
        self._cancelled += [turn.queued for turn in turns]
        if turns and self._slots.get(turns[0].sequence) == slot:
            del self._slots[turns[0].sequence]
            del self._last_ns[turns[0].sequence]

    def cancelled(self) -> list[Queued[T]]:
        """Return, once, the requests that went down with their sequence."""
        cancelled, self._cancelled = self._cancelled, []
        return cancelled

    def idle(self, now_ns: int) -> list[Slot]:
        """Forget the sequences that were idle too long, and return their slots.

        One in the backlog stays, and is looked at again soon: it loses its slot
        shortly after it has one, unless it sends something.
        """
        if self._reap_ns is None or now_ns < self._reap_ns:
            return []
        wait_ns, lost = self._idle_ns, []
        for sequence, last_ns in list(self._last_ns.items()):
            left_ns = self._idle_ns - (now_ns - last_ns)
            if left_ns > 0:
                wait_ns = min(wait_ns, left_ns + US)
            elif sequence in self._slots:
                lost.append(self._slots.pop(sequence))
                del self._last_ns[sequence]
            elif sequence in self.backlog:
                wait_ns = min(wait_ns, _LOOK_AGAIN_NS)
            else:
                del self._last_ns[sequence]
        self._reap_ns = now_ns + wait_ns if self._last_ns else None
        return lost

    @property
    def wake_ns(self) -> int | None:
        """When to look at the clock again."""
        times = (self._reap_ns, self.backlog.expires_ns)
        return min((time for time in times if time is not None), default=None)
