"""StagedScheduler: what may start waits for its turn among all models, too."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial

from blsnb.engine.instance.executor import Executor, number_execution
from blsnb.engine.instance.pool import InstancePool
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.scheduling.queue_scheduler import (
    Moves,
    Queue,
    QueueScheduler,
    Seat,
    Start,
)
from blsnb.engine.scheduling.resource_admission import PoolAdmission, Ticket
from blsnb.engine.threads.alarm import Alarm
from blsnb.engine.threads.workers import Workers

Fill = Callable[[Start, int], Start | None]
"""Puts into a start what is to be executed, now that it may begin; None if nothing."""


def as_staged(start: Start, now_ns: int) -> Start:
    """Execute what was staged, as it was."""
    return start


class StagedScheduler(QueueScheduler):
    """A queue's scheduler on a server that limits rates.

    Parameters
    ----------
    limits
        Lets the instances begin.
    fill
        Of the queue; by default what it started is what is executed.

    References
    ----------
    core: src/rate_limiter.cc, EnqueuePayload, DeferPayloadSchedule
    """

    def __init__(
        self,
        queue: Queue,
        pool: InstancePool,
        executor: Executor,
        alarm: Alarm,
        workers: Workers,
        hang_notice_s: float,
        *,
        limits: PoolAdmission,
        fill: Fill = as_staged,
    ) -> None:
        super().__init__(queue, pool, executor, alarm, workers, hang_notice_s)
        self._limits = limits
        self._fill = fill
        self._ready: list[Start] = []
        """What is to be staged once the lock is free: others' locks may follow."""
        self._staged_count = 0
        """Number of requests that are no longer in the queue, and do not run yet."""
        self._tickets: dict[int, Ticket] = {}
        """Of what runs, by the number of its execution."""
        pool.held_up_by = limits.held_up_by

    @contextlib.contextmanager
    def _advancing(self) -> Iterator[int]:
        with super()._advancing() as now_ns:
            yield now_ns
        while self._ready:
            with self._lock:
                ready, self._ready = self._ready, []
            for start in ready:
                number = self._pool.number_of(start.place)
                self._limits.stage(number, partial(self._begin, start))
        if self._pool.retired:
            self._limits.leave()

    def _start(self, start: Start) -> None:
        self._staged_count += len(start.seats)
        self._ready.append(start)

    def _begin(self, staged: Start, ticket: Ticket) -> None:
        """Let an execution begin, now that it may."""
        with self._advancing() as now_ns:
            self._staged_count -= len(staged.seats)
            start = self._fill(staged, now_ns)
            if start is not None:
                self._tickets[start.number] = ticket
                super()._start(start)
        if start is None:
            # Whoever was to be served has left.
            self._pool.unclaim(staged.place)
            self._limits.release(ticket)

    @property
    def waiting_count(self) -> int:
        """Number of requests that wait: for others, an instance, or resources."""
        return super().waiting_count + self._staged_count

    def _execute(self, start: Start, root: RootRequest | None = None) -> None:
        __tracebackhide__ = True
        try:
            super()._execute(start, root)
        finally:
            self._limits.release(self._tickets.pop(start.number))


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
