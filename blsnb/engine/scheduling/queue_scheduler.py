"""QueueScheduler: requests wait until their queue lets some of them leave together."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from blsnb.engine.instance.executor import Executor
from blsnb.engine.instance.instance import ModelInstance
from blsnb.engine.instance.pool import Deadlock, InstancePool, Retired
from blsnb.engine.instance.slot import Place
from blsnb.engine.request import hang_report as hang
from blsnb.engine.request.inflight import Inflight
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.request.ordered_delivery import Turns
from blsnb.engine.scheduling.batching.batch import Queued
from blsnb.engine.scheduling.scheduler import Rejected
from blsnb.engine.threads.alarm import Alarm
from blsnb.engine.threads.waiter import Waiter
from blsnb.engine.threads.workers import Workers
from blsnb.errors import OutOfResourcesError
from blsnb.pb_utils.message import ResponseMessage
from blsnb.trace.recorder import RunRecord

_now = time.monotonic_ns


class Seat:
    """The place of one request from its arrival until it was executed."""

    __slots__ = ("executed", "failure", "inflight", "lead", "left", "queued", "waiter")

    def __init__(self, inflight: Inflight) -> None:
        self.inflight = inflight
        self.queued: Queued[Seat] | None = None
        """What its queue knows of it."""
        self.waiter = Waiter()
        """Woken when it is to lead a batch, or when it was executed or refused."""
        self.lead: Callable[[], None] | None = None
        """Executes the batch of which it is the first."""
        self.left = False
        """Whether its caller has gone, and nobody waits here."""
        self.executed: ModelInstance | ResponseMessage | None = None
        self.failure: BaseException | None = None
        """Why the batch was not executed."""


class Start(NamedTuple):
    """Requests for one ``execute``, which may have others among them that nobody sent.

    Parameters
    ----------
    batch
        What the queue calls it.
    number
        Of the execution.
    """

    inflights: list[Inflight]
    seats: list[Seat]
    place: Place
    batch: Any
    number: int


class Moves(NamedTuple):
    """What a queue wants done now.

    Parameters
    ----------
    refused
        Each with text and code of its error.
    wake_ns
        When to ask again if nothing else happens.
    """

    starts: Sequence[Start]
    refused: Sequence[tuple[Seat, str, str]]
    wake_ns: int | None


class Queue(Protocol):
    """A batcher, fed with requests on their way."""

    preserve_ordering: bool
    """Whether answers leave in the order of the requests."""

    def __len__(self) -> int:
        """Return how many wait."""

    def add(self, seat: Seat, now_ns: int) -> None:
        """Let a request wait.

        Raises
        ------
        RequestError
            It is refused.
        """

    def decide(self, now_ns: int) -> Moves:
        """Say what to do now, after whatever happened."""

    def remove(self, seat: Seat) -> None:
        """Forget a request whose caller has left."""

    def done(self, start: Start, now_ns: int) -> list[Seat]:
        """Learn that requests were executed; return those that wait once more."""

    def resized(self) -> None:
        """Learn that its pool has other instances than before."""


class QueueScheduler:
    """Lets requests wait for others, and executes those that leave together.

    A batch runs on the thread of its first request, so that a debugger and Ctrl-C
    work in it; only where its requests come from several clients does it have a
    thread of its own, which no client's leaving ends.

    Parameters
    ----------
    queue
        Decides who leaves with whom, and when.
    alarm
        Looks again when a delay or a time-out is over.
    workers
        Run batches of several clients.
    hang_notice_s
        After so long a wait within such a batch is reported.
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
        """When the alarm rings next for this model; 0 for never."""
        self._retiring = False
        self._turns = Turns() if queue.preserve_ordering else None
        self._unstarted: list[Callable[[], None]] = []
        """Executions for which no thread could start, and that no client waits for."""
        pool.on_free = self._look
        pool.guard = self._lock

    def run(self, inflight: Inflight, certain: bool) -> ModelInstance:
        """Have a request executed with others, waiting until it was.

        Raises
        ------
        Rejected
            It left the queue with an error.
        RequestError
            The queue does not take it.
        """
        __tracebackhide__ = True
        seat = Seat(inflight)
        with self._advancing() as now_ns:
            if self._retiring:
                raise Retired
            self._queue.add(seat, now_ns)
            if self._turns is not None:
                inflight.turn = self._turns.next()
        inflight.root.arrive()
        while seat.executed is None:
            if seat.lead is None:
                self._wait(seat, certain)
            lead, seat.lead = seat.lead, None
            if lead is not None:
                # Woken once; it may have to wait again.
                seat.waiter = Waiter()
                lead()
            if seat.failure is not None:
                raise seat.failure
        if isinstance(seat.executed, ResponseMessage):
            raise Rejected(seat.executed)
        return seat.executed

    def _wait(self, seat: Seat, certain: bool) -> None:
        """Wait until it leads a batch, or was executed by another's thread."""
        __tracebackhide__ = True
        inflight = seat.inflight
        try:
            self._pool.expect(inflight, certain)
            inflight.root.wait(seat.waiter, lambda s: hang.notice(inflight, s))
        except Deadlock as deadlock:
            self._leave(seat)
            hang.end_deadlocked(self._pool, inflight, deadlock.lines)
        except BaseException:
            self._leave(seat)
            raise
        finally:
            inflight.waiting_for = None

    def _leave(self, seat: Seat) -> None:
        """Take a request out whose caller goes."""
        with self._advancing():
            seat.left = True
            self._queue.remove(seat)
            lead, seat.lead = seat.lead, None
        if lead is not None:
            # All of it is for the caller that goes: this gives the instance back.
            lead()

    def _look(self) -> None:
        """Let the queue decide again: time has passed, or an instance is free."""
        with self._advancing():
            self._wake_ns = 0

    @contextlib.contextmanager
    def _advancing(self) -> Iterator[int]:
        """Let something change at one time, and do what the queue then decides."""
        with self._lock:
            # Read once: a request must not expire between arrival and decision.
            now_ns = _now()
            yield now_ns
            self._advance(now_ns)
            over = self._retiring and not len(self._queue)
            unstarted, self._unstarted = self._unstarted, []
        for execute in unstarted:
            execute()
        if over:
            self._pool.retire()

    def _advance(self, now_ns: int) -> None:
        moves = self._queue.decide(now_ns)
        for seat, error, code in moves.refused:
            seat.executed = ResponseMessage(error=error, code=code)
            seat.waiter.wake()
        for start in moves.starts:
            self._start(start)
        wake_ns = moves.wake_ns
        if wake_ns is not None and (not self._wake_ns or wake_ns < self._wake_ns):
            self._wake_ns = wake_ns
            self._alarm.call_at(wake_ns, self._look)

    def _start(self, start: Start) -> None:
        """Let a batch be executed: by its first request's thread, or by a worker."""
        first = start.seats[0]
        waiter = first.waiter
        roots = {seat.inflight.root for seat in start.seats}
        if len(roots) == 1 and not first.left:
            first.lead = lambda: self._execute(start)
            waiter.wake()
            return
        root = RootRequest(RunRecord(""), self._hang_notice_s)
        try:
            self._workers.submit(self._execute, start, root)
        except OutOfResourcesError:
            self._start_on_caller(start, root)

    def _start_on_caller(self, start: Start, root: RootRequest) -> None:
        """Let the thread of a client execute the batch: there is no other."""
        execute = partial(self._execute, start, root)
        leader = next((seat for seat in start.seats if not seat.left), None)
        if leader is None:
            self._unstarted.append(execute)
            return
        waiter, leader.lead = leader.waiter, execute
        waiter.wake()

    def _execute(self, start: Start, root: RootRequest | None = None) -> None:
        __tracebackhide__ = True
        failure: BaseException | None = None
        try:
            instance = self._pool.fill(start.place)
            self._executor.execute(instance, start.inflights, root, start.number)
        except BaseException as error:
            failure = error
            if root is None:
                raise
        else:
            for seat in start.seats:
                seat.executed = instance
        finally:
            self._finish(start, failure)

    def _finish(self, start: Start, failure: BaseException | None) -> None:
        """Let the requests' threads go on, but those of requests that come back."""
        for seat in start.seats:
            seat.failure = failure
        with self._advancing() as now_ns:
            again = self._queue.done(start, now_ns)
            for seat in again:
                seat.executed = None
        for seat in start.seats:
            if seat not in again:
                seat.waiter.wake()

    @property
    def waiting_count(self) -> int:
        """Number of requests that wait, for others or for an instance."""
        return len(self._queue)

    def resized(self) -> None:
        """Let the queue decide for the instances that there are now."""
        with self._advancing():
            self._queue.resized()

    def retire(self) -> None:
        """Finalize the instances when the last request that waits is done."""
        with self._advancing():
            self._retiring = True
