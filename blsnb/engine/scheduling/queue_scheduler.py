"""QueueScheduler: requests wait in a queue that forms batches of them."""

from __future__ import annotations

import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from blsnb.clock.pausing_clock import CLOCK
from blsnb.engine.instance.executor import Executor
from blsnb.engine.instance.instance import ModelInstance
from blsnb.engine.instance.pool import Deadlock, InstancePool, Retired
from blsnb.engine.instance.slot import PoolSlot
from blsnb.engine.request import hang_report as hang
from blsnb.engine.request.inflight import Inflight
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.request.ordered_delivery import DeliveryOrder
from blsnb.engine.scheduling.batching.batch import Queued
from blsnb.engine.scheduling.scheduler import Rejected
from blsnb.engine.threads.alarm import Alarm
from blsnb.engine.threads.waiter import Waiter
from blsnb.engine.threads.workers import Workers
from blsnb.errors import OutOfResourcesError
from blsnb.pb_utils.message import ResponseMessage
from blsnb.trace.run_record import RunRecord


@dataclass(slots=True, eq=False)
class PendingRequest:
    """A request between its arrival and the end of its execution."""

    inflight: Inflight
    queued: Queued[PendingRequest] | None = None
    """Its entry in the queue."""
    waiter: Waiter = field(default_factory=Waiter)
    """Woken when the request is to lead a batch, was executed or was refused."""
    lead: Callable[[], None] | None = None
    """Executes the batch that this request leads."""
    left: bool = False
    """Whether the caller has given up."""
    executed: ModelInstance | ResponseMessage | None = None
    failure: BaseException | None = None
    """Why the batch was not executed."""


class ReadyBatch(NamedTuple):
    """A batch for one ``execute``.

    Parameters
    ----------
    inflights
        The requests, including null requests, which no client sent.
    members
        The requests that clients sent.
    source
        The queue's own record of the batch.
    number
        Number of the execution.
    """

    inflights: list[Inflight]
    members: list[PendingRequest]
    place: PoolSlot
    source: Any
    number: int


class QueueDecision(NamedTuple):
    """What to do now.

    Parameters
    ----------
    refused
        Requests, each with text and code of its error.
    wake_ns
        When to decide again if nothing happens before.
    """

    batches: Sequence[ReadyBatch]
    refused: Sequence[tuple[PendingRequest, str, str]]
    wake_ns: int | None


class Queue(ABC):
    """A batcher of requests in flight."""

    preserve_ordering = False
    """Whether responses are delivered in the order of the requests."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of waiting requests."""

    @abstractmethod
    def add(self, pending: PendingRequest, now_ns: int) -> None:
        """Append a request; raise RequestError to refuse it."""

    @abstractmethod
    def decide(self, now_ns: int) -> QueueDecision:
        """Return what to do after any change."""

    @abstractmethod
    def remove(self, pending: PendingRequest) -> None:
        """Remove a request whose caller has given up."""

    def done(self, batch: ReadyBatch, now_ns: int) -> list[PendingRequest]:
        """Note the end of an execution; return the requests to execute again."""
        return []

    def resized(self) -> None:  # noqa: B027 - a model may be reloaded instead
        """Adapt to a changed number of instances in the pool."""


class QueueScheduler:
    """Executes the batches that a queue forms.

    A batch of one client's requests runs on the thread of its first request, so that
    a debugger and Ctrl-C work in it. A batch of several clients runs on a worker
    thread, which no client's cancellation ends.

    Parameters
    ----------
    alarm
        Wakes the scheduler at the end of a delay or timeout.
    workers
        Run the batches of several clients.
    hang_notice_s
        Time after which a wait within such a batch is reported.
    """

    def __init__(
        self,
        queue: Queue,
        pool: InstancePool,
        executor: Executor,
        alarm: Alarm,
        workers: Workers,
        hang_notice_s: float,
    ) -> None:
        self._queue = queue
        self._pool = pool
        self._executor = executor
        self._alarm = alarm
        self._workers = workers
        self._hang_notice_s = hang_notice_s
        self._lock = threading.Lock()
        self._wake_ns = 0
        """Next time of the alarm; 0 if it is not set."""
        self._retiring = False
        self._turns = DeliveryOrder() if queue.preserve_ordering else None
        self._unstarted: list[Callable[[], None]] = []
        """Executions without a thread: no worker could start and no client waits."""
        pool.on_free = self._wake
        pool.guard = self._lock

    def run(self, inflight: Inflight, blocks_execute: bool) -> ModelInstance:
        """Wait until a request was executed in a batch.

        Raises
        ------
        Rejected
            The request was answered with an error instead.
        RequestError
            The queue refuses it.
        """
        __tracebackhide__ = True
        pending = PendingRequest(inflight)
        with self._advancing() as now_ns:
            if self._retiring:
                raise Retired
            self._queue.add(pending, now_ns)
            if self._turns is not None:
                inflight.turn = self._turns.next()
        inflight.root.arrive()
        while pending.executed is None:
            if pending.lead is None:
                self._wait(pending, blocks_execute)
            lead, pending.lead = pending.lead, None
            if lead is not None:
                # A waiter wakes once; the request may have to wait again.
                pending.waiter = Waiter()
                lead()
            if pending.failure is not None:
                raise pending.failure
        if isinstance(pending.executed, ResponseMessage):
            raise Rejected(pending.executed)
        return pending.executed

    def _wait(self, pending: PendingRequest, blocks_execute: bool) -> None:
        """Wait until the request leads a batch, or another thread executed it."""
        __tracebackhide__ = True
        inflight = pending.inflight
        try:
            self._pool.expect(inflight, blocks_execute)
            inflight.root.wait(pending.waiter, lambda s: hang.notice(inflight, s))
        except Deadlock as deadlock:
            self._leave(pending)
            hang.end_deadlocked(self._pool, inflight, deadlock.lines)
        except BaseException:
            self._leave(pending)
            raise
        finally:
            inflight.waiting_for = None

    def _leave(self, pending: PendingRequest) -> None:
        """Remove a request whose caller gives up."""
        with self._advancing():
            pending.left = True
            self._queue.remove(pending)
            lead, pending.lead = pending.lead, None
        if lead is not None:
            # The whole batch has one caller: executing it frees the instance.
            lead()

    def _wake(self) -> None:
        """Decide again: time has passed, or an instance is free."""
        with self._advancing():
            self._wake_ns = 0

    @contextlib.contextmanager
    def _advancing(self) -> Iterator[int]:
        """Change the queue's state at one time, and apply its decision."""
        with self._lock:
            # Read once: a request must not expire between arrival and decision.
            now_ns = CLOCK.now_ns()
            yield now_ns
            self._advance(now_ns)
            over = self._retiring and not len(self._queue)
            unstarted, self._unstarted = self._unstarted, []
        for execute in unstarted:
            execute()
        if over:
            self._pool.retire()

    def _advance(self, now_ns: int) -> None:
        decision = self._queue.decide(now_ns)
        for pending, error, code in decision.refused:
            pending.executed = ResponseMessage(error=error, code=code)
            pending.waiter.wake()
        for batch in decision.batches:
            self._start(batch)
        wake_ns = decision.wake_ns
        if wake_ns is not None and (not self._wake_ns or wake_ns < self._wake_ns):
            self._wake_ns = wake_ns
            self._alarm.call_at(wake_ns, self._wake)

    def _start(self, batch: ReadyBatch) -> None:
        """Hand a batch to the thread of its first request, or to a worker."""
        first = batch.members[0]
        waiter = first.waiter
        roots = {pending.inflight.root for pending in batch.members}
        if len(roots) == 1 and not first.left:
            first.lead = lambda: self._execute(batch)
            waiter.wake()
            return
        root = RootRequest(RunRecord(""), self._hang_notice_s)
        try:
            self._workers.submit(self._execute, batch, root)
        except OutOfResourcesError:
            self._start_on_caller(batch, root)

    def _start_on_caller(self, batch: ReadyBatch, root: RootRequest) -> None:
        """Hand a batch to the thread of a client, since no worker can start."""
        execute = partial(self._execute, batch, root)
        leader = next((pending for pending in batch.members if not pending.left), None)
        if leader is None:
            self._unstarted.append(execute)
            return
        waiter, leader.lead = leader.waiter, execute
        waiter.wake()

    def _execute(self, batch: ReadyBatch, root: RootRequest | None = None) -> None:
        __tracebackhide__ = True
        failure: BaseException | None = None
        ended: list[PendingRequest] | None = None

        def executed() -> None:
            """Continue sequences before the instance is free, as on Triton."""
            nonlocal ended
            with self._lock:
                ended = self._done(batch, CLOCK.now_ns())
                for pending in ended:
                    pending.executed = instance

        try:
            instance = self._pool.fill(batch.place)
            self._executor.execute(
                instance, batch.inflights, root, batch.number, executed
            )
        except BaseException as error:
            failure = error
            if root is None:
                raise
        finally:
            self._finish(batch, failure, ended)

    def _done(self, batch: ReadyBatch, now_ns: int) -> list[PendingRequest]:
        """Note the end of an execution; return requests not to be executed again."""
        again = self._queue.done(batch, now_ns)
        return [pending for pending in batch.members if pending not in again]

    def _finish(
        self,
        batch: ReadyBatch,
        failure: BaseException | None,
        ended: list[PendingRequest] | None,
    ) -> None:
        """Wake the threads of the requests that are not executed again.

        Parameters
        ----------
        ended
            These requests; None if the execution failed before its end.
        """
        with self._advancing() as now_ns:
            if ended is None:
                ended = self._done(batch, now_ns)
        for pending in ended:
            pending.failure = failure
            pending.waiter.wake()

    @property
    def waiting_count(self) -> int:
        """Number of requests that wait for a batch or an instance."""
        return len(self._queue)

    def resized(self) -> None:
        """Adapt the queue to a changed number of instances."""
        with self._advancing():
            self._queue.resized()

    def retire(self) -> None:
        """Finalize the instances after the last waiting request."""
        with self._advancing():
            self._retiring = True
