"""Sequences that wait for a slot, in the order of their starts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Generic

from blsnb.engine.scheduling.batching.batch import Queued, T
from blsnb.engine.scheduling.batching.policy_queue import US
from blsnb.engine.scheduling.sequences.rules import SequenceId
from blsnb.engine.scheduling.sequences.slots import Turn, take_out


class WaitingSequence(Generic[T]):
    """A sequence without a slot: its requests, and when they give up.

    Parameters
    ----------
    turns
        What arrived so far, in order; never empty while it waits.
    """

    def __init__(self, sequence: SequenceId) -> None:
        self.sequence = sequence
        self.turns: deque[Turn[T]] = deque()
        self.expires_ns: int | None = None

    def add(self, turn: Turn[T], now_ns: int) -> None:
        """Append a request; the shortest time-out is the sequence's."""
        self.turns.append(turn)
        if turn.queued.timeout_us:
            expires_ns = now_ns + turn.queued.timeout_us * US
            self.expires_ns = min(self.expires_ns or expires_ns, expires_ns)

    def expired(self, now_ns: int) -> bool:
        """Whether its time is over."""
        return self.expires_ns is not None and self.expires_ns <= now_ns

    @property
    def cancelled(self) -> bool:
        """Whether any of its requests was given up: then all of them are."""
        return any(turn.cancelled for turn in self.turns)


class Backlog(Generic[T]):
    """Collects the requests of sequences that have no slot yet.

    References
    ----------
    core: src/sequence_batch_scheduler.cc, SequenceBatchScheduler::Enqueue,
    ReleaseSequenceSlot, ReaperThread
    """

    def __init__(self) -> None:
        self._waiting: deque[WaitingSequence[T]] = deque()
        # Those that have not ended: an id may wait once more behind its own end.
        self._open: dict[SequenceId, WaitingSequence[T]] = {}
        self._timed: set[WaitingSequence[T]] = set()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, sequence: SequenceId) -> bool:
        return sequence in self._open

    def __iter__(self) -> Iterator[Turn[T]]:
        return (turn for waiting in self._waiting for turn in waiting.turns)

    def add(self, turn: Turn[T], now_ns: int) -> None:
        """Append a request to its sequence, or a new sequence that it starts."""
        waiting = self._open.get(turn.sequence)
        if waiting is None:
            waiting = WaitingSequence(turn.sequence)
            self._open[turn.sequence] = waiting
            self._waiting.append(waiting)
        waiting.add(turn, now_ns)
        self._count += 1
        if waiting.expires_ns is not None:
            self._timed.add(waiting)
        if turn.ends:
            del self._open[turn.sequence]

    def pop(self) -> WaitingSequence[T] | None:
        """Remove and return the sequence that waits longest, if any does."""
        if not self._waiting:
            return None
        waiting = self._waiting.popleft()
        self._close(waiting)
        return waiting

    def expired(self, now_ns: int) -> list[Turn[T]]:
        """Remove the sequences whose time is over, and return their requests."""
        if (self.expires_ns or now_ns + 1) > now_ns:
            return []
        over = [waiting for waiting in self._waiting if waiting.expired(now_ns)]
        for waiting in over:
            self._drop(waiting)
        return [turn for waiting in over for turn in waiting.turns]

    def remove(self, queued: Queued[T]) -> bool:
        """Forget a request; False if it does not wait here."""
        for waiting in self._waiting:
            if take_out(waiting.turns, queued):
                self._count -= 1
                if not waiting.turns:
                    self._drop(waiting)
                return True
        return False

    @property
    def expires_ns(self) -> int | None:
        """When the next sequence gives up."""
        ends = (waiting.expires_ns for waiting in self._timed)
        return min((end for end in ends if end is not None), default=None)

    def _drop(self, waiting: WaitingSequence[T]) -> None:
        self._waiting.remove(waiting)
        self._close(waiting)

    def _close(self, waiting: WaitingSequence[T]) -> None:
        self._timed.discard(waiting)
        self._count -= len(waiting.turns)
        # Behind a sequence that ended, another of its id may wait.
        if self._open.get(waiting.sequence) is waiting:
            del self._open[waiting.sequence]
