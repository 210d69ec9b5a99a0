"""Sequences that wait for a slot, in the order of their starts."""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Iterator
from typing import Generic

from blsnb.engine.scheduling.batching.batch import T
from blsnb.engine.scheduling.batching.policy_queue import US
from blsnb.engine.scheduling.sequences.rules import SequenceId
from blsnb.engine.scheduling.sequences.slots import SequenceRequest, SlotQueue

NEVER_NS = 1 << 63
"""A time that is never reached."""


class WaitingSequence(Generic[T]):
    """A sequence without a slot, with its requests in order of arrival."""

    def __init__(self, sequence: SequenceId) -> None:
        self.sequence = sequence
        self.queue: SlotQueue[T] = SlotQueue()
        self.expires_ns = NEVER_NS

    def add(self, request: SequenceRequest[T], now_ns: int) -> None:
        """Append a request; the shortest timeout applies to the sequence."""
        self.queue.append(request)
        if request.queued.timeout_us:
            expires_ns = now_ns + request.queued.timeout_us * US
            self.expires_ns = min(self.expires_ns, expires_ns)

    @property
    def cancelled(self) -> bool:
        """Whether any request was cancelled, which cancels all of them."""
        return any(request.queued.cancelled() for request in self.queue.requests)


class Backlog(Generic[T]):
    """Requests of sequences that have no slot yet.

    References
    ----------
    core: src/sequence_batch_scheduler.cc, SequenceBatchScheduler::Enqueue,
    ReleaseSequenceSlot, ReaperThread
    """

    def __init__(self) -> None:
        self._waiting: deque[WaitingSequence[T]] = deque()
        # Sequences that have not ended; another of the same id may wait behind its end.
        self._open: dict[SequenceId, WaitingSequence[T]] = {}
        self._ends: list[tuple[int, int, WaitingSequence[T]]] = []
        """When sequences expire, the earliest first; some are over or out of date."""
        self._numbers = itertools.count()
        self.expires_ns = NEVER_NS
        """When the next sequence expires."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, sequence: SequenceId) -> bool:
        return sequence in self._open

    def __iter__(self) -> Iterator[SequenceRequest[T]]:
        return (each for waiting in self._waiting for each in waiting.queue.requests)

    def add(self, request: SequenceRequest[T], now_ns: int) -> None:
        """Append a request to its sequence, or start a new sequence."""
        waiting = self._open.get(request.sequence)
        if waiting is None:
            waiting = WaitingSequence(request.sequence)
            self._open[request.sequence] = waiting
            self._waiting.append(waiting)
        expired_ns = waiting.expires_ns
        waiting.add(request, now_ns)
        self._count += 1
        if waiting.expires_ns < expired_ns:
            entry = (waiting.expires_ns, next(self._numbers), waiting)
            heapq.heappush(self._ends, entry)
            self.expires_ns = min(self.expires_ns, waiting.expires_ns)
        if request.ends:
            del self._open[request.sequence]

    def pop(self) -> WaitingSequence[T] | None:
        """Remove and return the sequence that has waited longest, if any."""
        if not self._waiting:
            return None
        waiting = self._waiting.popleft()
        self._close(waiting)
        return waiting

    def expired(self, now_ns: int) -> list[SequenceRequest[T]]:
        """Remove expired sequences, and return their requests."""
        if now_ns < self.expires_ns:
            return []
        over = [waiting for waiting in self._waiting if waiting.expires_ns <= now_ns]
        for waiting in over:
            self._waiting.remove(waiting)
            self._close(waiting)
        return [request for waiting in over for request in waiting.queue.requests]

    def _close(self, waiting: WaitingSequence[T]) -> None:
        self._forget_end(waiting)
        self._count -= len(waiting.queue)
        # Another sequence of the same id may wait behind one that ended.
        if self._open.get(waiting.sequence) is waiting:
            del self._open[waiting.sequence]

    def _forget_end(self, waiting: WaitingSequence[T]) -> None:
        """Note that a sequence no longer expires."""
        if waiting.expires_ns == NEVER_NS:
            return
        waiting.expires_ns = NEVER_NS
        ends = self._ends
        while ends and ends[0][0] != ends[0][2].expires_ns:
            heapq.heappop(ends)
        self.expires_ns = ends[0][0] if ends else NEVER_NS
