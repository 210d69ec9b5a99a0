"""A model under load: requests wait for a free instance, alone or in batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from blsnb.engine.scheduling.batching.batch import Queued, QueueFull
from blsnb.engine.scheduling.batching.dynamic_batcher import DynamicBatcher
from blsnb.model.config import ModelConfig
from blsnb.planning.simulation.timeline import Timeline


@dataclass(slots=True, eq=False)
class SimulatedRequest:
    """A request in simulated time.

    Parameters
    ----------
    model
        Name of its model.
    size
        Batch size.
    answered
        Called at its end.
    parent
        The request whose execution made it; None for a client's.
    """

    model: str
    size: int
    answered: Callable[[SimulatedRequest], None]
    parent: SimulatedRequest | None = None
    sequence: int = 0
    flags: int = 0
    began_ns: int = 0
    queued_ns: int = 0
    started_ns: int = 0
    ended_ns: int = 0
    instance: int = 0
    batch: int = 0
    """Number of requests of its execution."""
    error: str = ""
    children: list[SimulatedRequest] = field(default_factory=list)


Execute = Callable[[Sequence[SimulatedRequest], Callable[[], None]], None]
"""Executes requests together, and calls a function at the end."""


class Station(ABC):
    """The instances of a model, and the requests that wait for one.

    Parameters
    ----------
    execute
        Executes the requests of a batch.
    count
        Number of instances.
    """

    def __init__(self, timeline: Timeline, execute: Execute, count: int) -> None:
        self._timeline = timeline
        self._execute = execute
        self._idle = list(reversed(range(count)))
        self.count = count
        self.busy_ns = 0
        """Time of all executions."""
        self.queue_ns = 0
        """Time of all requests in the queue."""
        self.requests = self.executions = self.inferences = 0

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of waiting requests."""

    @abstractmethod
    def add(self, request: SimulatedRequest) -> None:
        """Take a request."""

    @abstractmethod
    def advance(self) -> None:
        """Start what can start now."""

    def start(self, requests: Sequence[SimulatedRequest], instance: int) -> None:
        """Execute requests on a free instance."""
        began_ns = self._timeline.now_ns
        self.executions += 1
        for request in requests:
            request.started_ns, request.instance = began_ns, instance
            request.batch = len(requests)
            self.queue_ns += began_ns - request.queued_ns
            self.inferences += request.size
        self.requests += len(requests)

        def done() -> None:
            self.busy_ns += self._timeline.now_ns - began_ns
            self.free(instance)
            for request in requests:
                self._answer(request)
            self.advance()

        self._execute(requests, done)

    def free(self, instance: int) -> None:
        """Note that an instance is free."""
        self._idle.append(instance)

    def _answer(self, request: SimulatedRequest, error: str = "") -> None:
        request.ended_ns, request.error = self._timeline.now_ns, error
        request.answered(request)


class DefaultStation(Station):
    """A model without a batcher: each request is executed alone, in order of arrival.

    References
    ----------
    core: src/dynamic_batch_scheduler.cc with a batch size of 1
    """

    def __init__(self, timeline: Timeline, execute: Execute, count: int) -> None:
        super().__init__(timeline, execute, count)
        self._waiting: deque[SimulatedRequest] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, request: SimulatedRequest) -> None:
        """Append a request."""
        request.queued_ns = self._timeline.now_ns
        self._waiting.append(request)
        self.advance()

    def advance(self) -> None:
        """Start requests while instances are free."""
        while self._waiting and self._idle:
            self.start((self._waiting.popleft(),), self._idle.pop())


class EnsembleStation(Station):
    """An ensemble: it has no instances, and each request begins at once."""

    def __init__(self, timeline: Timeline, execute: Execute) -> None:
        super().__init__(timeline, execute, 0)

    def __len__(self) -> int:
        return 0

    def add(self, request: SimulatedRequest) -> None:
        """Start a request."""
        request.queued_ns = self._timeline.now_ns
        self.start((request,), 0)

    def advance(self) -> None:
        """Do nothing: no request waits."""


class BatchingStation(Station):
    """A model with the dynamic batcher of the engine."""

    def __init__(
        self, timeline: Timeline, execute: Execute, count: int, config: ModelConfig
    ) -> None:
        super().__init__(timeline, execute, count)
        self._batcher: DynamicBatcher[SimulatedRequest] = DynamicBatcher(config)
        self._batcher.resize(count)
        self._wake_ns = -1

    def __len__(self) -> int:
        return len(self._batcher)

    def add(self, request: SimulatedRequest) -> None:
        """Append a request, or refuse it at the limit of the queue."""
        now_ns = request.queued_ns = self._timeline.now_ns
        try:
            self._batcher.add(Queued(request, request.size, {}), now_ns)
        except QueueFull:
            self._answer(request, "Exceeds maximum queue size")
            return
        self.advance()

    def advance(self) -> None:
        """Apply what the batcher decides."""
        decision = self._batcher.decide(self._timeline.now_ns, len(self._idle))
        for batch in decision.batches:
            members = [queued.request for queued in batch.members]
            self.start(members, self._idle.pop())
        for queued in decision.rejected:
            self._answer(queued.request, "Request timeout expired")
        self._wake(decision.wake_ns)

    def _wake(self, ns: int | None) -> None:
        if ns is None or ns == self._wake_ns:
            return
        self._wake_ns = ns
        self._timeline.at(ns, self._woken)

    def _woken(self) -> None:
        self._wake_ns = -1
        self.advance()
