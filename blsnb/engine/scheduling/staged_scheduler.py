"""Ready executions that wait until the rate limiter admits them."""

from __future__ import annotations

from collections import deque
from functools import partial

from blsnb.engine.instance.executor import Executor, number_execution
from blsnb.engine.instance.pool import InstancePool
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.scheduling.queue_scheduler import OnEnd, QueueScheduler
from blsnb.engine.scheduling.request_queue import (
    PendingRequest,
    Queue,
    QueueDecision,
    ReadyBatch,
)
from blsnb.engine.scheduling.resource_admission import PoolAdmission, Ticket
from blsnb.engine.threads.alarm import Alarm
from blsnb.engine.threads.batch_workers import BatchWorkers


class StagedScheduler(QueueScheduler):
    """A queue's scheduler on a server that limits rates.

    Parameters
    ----------
    admission
        Admits the executions of the pool's instances.

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
        workers: BatchWorkers,
        hang_notice_s: float,
        admission: PoolAdmission,
    ) -> None:
        super().__init__(queue, pool, executor, alarm, workers, hang_notice_s)
        self._admission = admission
        self._ready: list[ReadyBatch] = []
        """Batches to stage without the lock: staging takes the locks of others."""
        self._staged_count = 0
        """Number of requests in staged batches."""
        self._tickets: dict[int, Ticket] = {}
        """Tickets of running executions, by execution number."""
        pool.resource_holders = admission.resource_holders

    def _advance(self, now_ns: int) -> bool:
        is_complete = super()._advance(now_ns)
        return is_complete and not (self._ready or self._pool.retired)

    def _complete(self) -> None:
        super()._complete()
        while self._ready:
            with self._lock:
                ready, self._ready = self._ready, []
            for batch in ready:
                number = self._pool.number_of(batch.place)
                self._admission.stage(number, partial(self._begin, batch))
        if self._pool.retired:
            self._admission.leave()

    def _start(self, batch: ReadyBatch) -> None:
        self._staged_count += len(batch.members)
        self._ready.append(batch)

    def _begin(self, staged: ReadyBatch, ticket: Ticket) -> None:
        """Start an execution that was admitted."""
        with self._advancing() as now_ns:
            self._staged_count -= len(staged.members)
            batch = self._queue.fill(staged, now_ns)
            if batch is not None:
                self._tickets[batch.number] = ticket
                super()._start(batch)
        if batch is None:
            # All its callers have given up.
            self._pool.unclaim(staged.place)
            self._admission.release(ticket)

    @property
    def waiting_count(self) -> int:
        """Number of requests that wait for a batch, an instance or resources."""
        return super().waiting_count + self._staged_count

    def _execute(
        self, batch: ReadyBatch, root: RootRequest | None = None, on_end: OnEnd = tuple
    ) -> None:
        __tracebackhide__ = True
        try:
            super()._execute(batch, root, on_end)
        finally:
            self._admission.release(self._tickets.pop(batch.number))


class FifoQueue(Queue):
    """The queue of a model without a batcher: one request per execution."""

    def __init__(self, pool: InstancePool) -> None:
        self._pool = pool
        self._waiting: deque[PendingRequest] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, pending: PendingRequest, now_ns: int) -> None:
        """Append a request."""
        self._waiting.append(pending)

    def decide(self, now_ns: int) -> QueueDecision:
        """Give each free instance a request."""
        batches = []
        while self._waiting and self._pool.idle_count:
            pending = self._waiting.popleft()
            place = self._pool.claim()
            number = number_execution()
            batches.append(
                ReadyBatch([pending.inflight], [pending], place, None, number)
            )
        return QueueDecision(batches, [], None)

    def remove(self, pending: PendingRequest) -> None:
        """Remove a request whose caller has given up."""
        if pending in self._waiting:
            self._waiting.remove(pending)
