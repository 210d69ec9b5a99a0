"""FifoQueue: each request alone, first come, first served, where rates are limited."""

from __future__ import annotations

from collections import deque

from blsnb.engine.instance.executor import number_execution
from blsnb.engine.instance.pool import InstancePool
from blsnb.engine.scheduling.queue_scheduler import Moves, Seat, Start


class FifoQueue:
    """The queue of a model without a batcher.

    Parameters
    ----------
    pool
        Where the free instances are.
    """

    preserve_ordering = False

    def __init__(self, pool: InstancePool) -> None:
        self._pool = pool
        self._seats: deque[Seat] = deque()

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._seats)

    def add(self, seat: Seat, now_ns: int) -> None:
        """Let a request wait."""
        self._seats.append(seat)

    def decide(self, now_ns: int) -> Moves:
        """Give each free instance a request."""
        starts = []
        while self._seats and self._pool.idle_count:
            seat = self._seats.popleft()
            place = self._pool.claim()
            starts.append(
                Start([seat.inflight], [seat], place, None, number_execution())
            )
        return Moves(starts, [], None)

    def remove(self, seat: Seat) -> None:
        """Forget a request whose caller has left."""
        if seat in self._seats:
            self._seats.remove(seat)

    def done(self, start: Start, now_ns: int) -> list[Seat]:
        """Learn that requests were executed: nothing follows from it."""
        return []

    def resized(self) -> None:
        """Do nothing: a server that limits rates loads the model anew instead."""
