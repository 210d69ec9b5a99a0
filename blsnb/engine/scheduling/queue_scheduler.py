"""Requests that wait in a queue which forms batches of them."""

from __future__ import annotations

import contextlib
import contextvars
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from blsnb.clock.pausing_clock import CLOCK
from blsnb.engine.instance.executor import Executor
from blsnb.engine.instance.instance import ModelInstance
from blsnb.engine.instance.pool import InstancePool
from blsnb.engine.instance.slot import Retired
from blsnb.engine.request import hang_report as hang
from blsnb.engine.request.deadlock import Deadlock
from blsnb.engine.request.inflight import Inflight
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.request.ordered_delivery import DeliveryTurn
from blsnb.engine.scheduling.request_queue import PendingRequest, Queue, ReadyBatch
from blsnb.engine.scheduling.scheduler import Rejected
from blsnb.engine.threads.alarm import Alarm
from blsnb.engine.threads.batch_workers import BatchWorkers
from blsnb.engine.threads.waiter import Waiter
from blsnb.errors import OutOfResourcesError
from blsnb.pb_utils.message import ResponseMessage
from blsnb.trace.events import CallFlag
from blsnb.trace.run_record import RunRecord

OnEnd = Callable[[], Sequence[object]]
"""Called at the end of an execution.

It returns what the thread does next: empty, and filled when the queue has decided.
"""


class QueueScheduler:
    """Executes the batches that a queue forms.

    A batch of one client's requests runs on the thread of its first request, so that
    a debugger and Ctrl-C work in it. A batch of several clients runs on a worker
    thread, which no client's cancellation ends. So does a batch of ``async_exec`` that
    had to wait: its own thread would have to wake first.

    Parameters
    ----------
    alarm
        Wakes the scheduler at the end of a delay or timeout.
    workers
        Run the batches of several clients, and of ``async_exec``.
    hang_notice_s
        Time after which a wait within such a batch is reported.
    """

    def __init__(
        self,
        queue: Queue,
        pool: InstancePool,
        executor: Executor,
        alarm: Alarm,
        workers: BatchWorkers,
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
        self._is_decided = True
        """Whether the queue has decided since the end of an execution."""
        self._retiring = False
        self._last_turn: DeliveryTurn | None = None
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
        by_worker = inflight.call.flags & CallFlag.ASYNC
        context = contextvars.copy_context() if by_worker else None
        pending = PendingRequest(inflight, context)
        with self._advancing() as now_ns:
            if self._retiring:
                raise Retired
            self._queue.add(pending, now_ns)
            if self._queue.preserve_ordering:
                inflight.turn = self._last_turn = DeliveryTurn(self._last_turn)
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
            inflight.root.wait(pending.waiter, lambda s: _notice(inflight, s))
        except Deadlock as deadlock:
            self._leave(pending)
            hang.end_deadlocked(self._pool, inflight, deadlock.lines)
        except BaseException:
            self._leave(pending)
            raise
        finally:
            inflight.waiting_for = None
            pending.wake_others()

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
        # Not by a generator: at the end of an execution the next batch waits for it.
        with self._lock:
            self._wake_ns = 0
            is_complete = self._advance(CLOCK.now_ns())
        if not is_complete:
            self._complete()

    @contextlib.contextmanager
    def _advancing(self) -> Iterator[int]:
        """Change the queue's state at one time, and apply its decision."""
        with self._lock:
            # Read once: a request must not expire between arrival and decision.
            now_ns = CLOCK.now_ns()
            yield now_ns
            is_complete = self._advance(now_ns)
        if not is_complete:
            self._complete()

    def _advance(self, now_ns: int) -> bool:
        """Apply the queue's decision; return False if `_complete` has work."""
        self._is_decided = True
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
        return not (self._unstarted or self._retiring)

    def _complete(self) -> None:
        """Do what a decision leaves to be done without the lock."""
        with self._lock:
            over = self._retiring and not len(self._queue)
            unstarted, self._unstarted = self._unstarted, []
        for execute in unstarted:
            execute()
        if over:
            self._pool.retire()

    def _start(self, batch: ReadyBatch) -> None:
        """Hand a batch to the thread of its first request, or to a worker."""
        first = batch.members[0]
        roots = {pending.inflight.root for pending in batch.members}
        if len(roots) > 1 or first.left:
            root = RootRequest(RunRecord(""), self._hang_notice_s)
            self._start_on_worker(batch, root)
        elif first.needs_worker:
            self._start_on_worker(batch, None)
        else:
            first.lead = lambda: self._execute(batch)
            first.waiter.wake()

    def _start_on_worker(self, batch: ReadyBatch, root: RootRequest | None) -> None:
        """Hand a batch to a worker, or to the thread of a client if none can start."""
        context = batch.members[0].context if root is None else None
        work = partial(self._execute, batch, root)
        if context is not None:
            # A copy: a rescheduled request may start before its worker leaves this one.
            work = partial(context.copy().run, work)
        try:
            self._workers.submit(work)
        except (OutOfResourcesError, RuntimeError):
            self._start_on_caller(batch, root)

    def _start_on_caller(self, batch: ReadyBatch, root: RootRequest | None) -> None:
        """Hand a batch to the thread of a client, since no worker can start."""
        execute = partial(self._execute, batch, root)
        leader = next((pending for pending in batch.members if not pending.left), None)
        if leader is None:
            self._unstarted.append(execute)
            return
        waiter, leader.lead = leader.waiter, execute
        waiter.wake()

    def _execute(
        self, batch: ReadyBatch, root: RootRequest | None = None, on_end: OnEnd = tuple
    ) -> None:
        __tracebackhide__ = True
        failure: BaseException | None = None
        ended: list[PendingRequest] | None = None
        following: Sequence[object] = ()

        def executed() -> None:
            """Continue sequences before the instance is free, as on Triton."""
            nonlocal ended, following
            with self._lock:
                self._is_decided = False
                ended = self._done(batch, CLOCK.now_ns())
                for pending in ended:
                    pending.executed = instance
            following = on_end()

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
            self._finish(batch, failure, ended, following)

    def _done(self, batch: ReadyBatch, now_ns: int) -> list[PendingRequest]:
        """Note the end of an execution; return requests not to be executed again."""
        again = self._queue.done(batch, now_ns)
        if not again:
            return batch.members
        return [pending for pending in batch.members if pending not in again]

    def _finish(
        self,
        batch: ReadyBatch,
        failure: BaseException | None,
        ended: list[PendingRequest] | None,
        following: Sequence[object],
    ) -> None:
        """Wake the threads of the requests that are not executed again.

        Parameters
        ----------
        ended
            These requests; None if the execution failed before its end.
        following
            What this thread does next, if anything.
        """
        if ended is None or not self._is_decided:
            with self._advancing() as now_ns:
                ended = self._done(batch, now_ns) if ended is None else ended
        for pending in ended:
            pending.failure = failure
        for pending in self._passed_on(ended) if following else ended:
            pending.waiter.wake()

    def _passed_on(self, ended: list[PendingRequest]) -> list[PendingRequest]:
        """Let the thread of the first request wake the others, if it waits."""
        with self._lock:
            if not ended or ended[0].left or ended[0].inflight.waiting_for is None:
                return ended
            ended[0].others = ended[1:]
            return ended[:1]

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


def _notice(inflight: Inflight, seconds: float) -> None:
    """Note that a request waits for long, unless a worker executes it."""
    if inflight.execution is None:
        hang.notice(inflight, seconds)
