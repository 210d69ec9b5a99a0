"""A model under load: requests wait for a free instance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from blsnb.engine.scheduling.rate_limiter import Resource
from blsnb.planning.simulation.admission import SimulatedTicket, StationAdmission
from blsnb.planning.simulation.timeline import Action, Timeline
from blsnb.request_fields import PLAIN, RequestFields


def _ignore(_: SimulatedRequest) -> None:
    """Ignore a request."""


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
    fields
        Its priority, timeout and sequence.
    responded
        Called with each response of a decoupled model.
    """

    model: str
    size: int
    answered: Callable[[SimulatedRequest], None]
    parent: SimulatedRequest | None = None
    fields: RequestFields = PLAIN
    responded: Callable[[SimulatedRequest], None] | None = None
    began_ns: int = 0
    queued_ns: int = 0
    started_ns: int = 0
    first_ns: int = 0
    """Time of the first response; 0 without one before the end."""
    ended_ns: int = 0
    instance: int = 0
    batch: int = 0
    """Number of requests of its execution."""
    responses: int = 0
    """Number of responses of a decoupled model."""
    at_once: bool = False
    """Whether its execution began with the end of another one on its instance."""
    delayed: bool = False
    """Whether it expired in its queue and was executed behind all others."""
    error: str = ""
    children: tuple[SimulatedRequest, ...] = ()

    def end(self) -> None:
        """Notify the client, whose functions are not kept: requests are many."""
        answered = self.answered
        self.answered, self.responded = _ignore, None
        answered(self)

    def respond(self, now_ns: int) -> None:
        """Receive a response of a decoupled model."""
        self.first_ns = self.first_ns or now_ns
        self.responses += 1
        if self.responded is not None:
            self.responded(self)


Execute = Callable[[Sequence[SimulatedRequest], Action, Action], None]
"""Executes requests together; calls one function when the instance is free, and one
at the end."""


class Station(ABC):
    """The instances of a model, and the requests that wait for one.

    Parameters
    ----------
    execute
        Executes the requests of a batch.
    count
        Number of instances.
    admission
        Admits executions by the resources of their instances; None without limits.
    """

    def __init__(
        self,
        timeline: Timeline,
        execute: Execute,
        count: int,
        admission: StationAdmission | None = None,
    ) -> None:
        self._timeline = timeline
        self._execute = execute
        self._admission = admission
        self._idle = deque(range(count))
        """The free instances, the one that is free longest first."""
        self._advancing = self._again = False
        self.count = count
        self.busy_by_instance_ns = [0] * count
        """Time of the executions of each instance."""
        self._freed_ns = [-1] * count
        """When each instance ended its last execution."""
        self.refused = 0
        """Number of requests that its queue policy refused."""
        self.queue_ns = 0
        """Time of all requests in the queue."""
        self.requests = self.executions = self.inferences = 0
        self.at_once = 0
        """Number of executions that began with the end of another one."""

    @property
    def busy_ns(self) -> int:
        """Time of all executions."""
        return sum(self.busy_by_instance_ns)

    def held_ns(self) -> dict[Resource, int]:
        """Return, by resource, the time of executions times what they need of it."""
        held: dict[Resource, int] = {}
        # An ensemble has neither instances nor an admission.
        every = self._admission.needs if self._admission is not None else ()
        for needs, busy_ns in zip(every, self.busy_by_instance_ns, strict=True):
            for resource, count in needs.resources.items():
                held[resource] = held.get(resource, 0) + count * busy_ns
        return held

    @abstractmethod
    def add(self, request: SimulatedRequest) -> None:
        """Take a request."""

    def advance(self) -> None:
        """Start what can start now."""
        self._again = True
        if self._advancing:
            # An execution ended in no time, while others were started.
            return
        self._advancing = True
        while self._again:
            self._again = False
            self._start_ready()
        self._advancing = False

    @abstractmethod
    def _start_ready(self) -> None:
        """Start what can start now, once."""

    def _stage(
        self, requests: Sequence[SimulatedRequest], instance: int, source: Any = None
    ) -> None:
        """Execute requests on an instance as soon as it is admitted."""
        if self._admission is None:
            self.start(requests, instance, source)
        else:
            self._admission.stage(
                instance, partial(self.start, requests, instance, source)
            )

    def start(
        self,
        requests: Sequence[SimulatedRequest],
        instance: int,
        source: Any = None,
        ticket: SimulatedTicket | None = None,
    ) -> None:
        """Execute requests on an instance.

        Parameters
        ----------
        source
            The batcher's own record of the batch.
        """
        began_ns = self._timeline.now_ns
        self._count(requests, instance)
        requests[0].at_once = self._freed_ns[instance] == began_ns
        self.at_once += requests[0].at_once

        def freed() -> None:
            self.busy_by_instance_ns[instance] += self._timeline.now_ns - began_ns
            self._free(instance, source, ticket)

        def ended() -> None:
            for request in requests:
                self.answer(request, request.error)

        self._execute(requests, freed, ended)

    def _count(self, requests: Sequence[SimulatedRequest], instance: int) -> None:
        now_ns, count = self._timeline.now_ns, len(requests)
        self.executions += 1
        for request in requests:
            request.started_ns, request.instance = now_ns, instance
            request.batch = count
            self.queue_ns += now_ns - request.queued_ns
            self.inferences += request.size
        self.requests += count

    def _free(self, instance: int, source: Any, ticket: SimulatedTicket | None) -> None:
        """Note that an instance is free."""
        self._freed_ns[instance] = self._timeline.now_ns
        self._idle.append(instance)
        self._finished(source)
        # The scheduler decides before clients receive the responses.
        self.advance()
        if self._admission is not None and ticket is not None:
            self._admission.release(ticket)

    def _finished(self, source: Any) -> None:  # noqa: B027 - most batchers ignore it
        """Note the end of an execution."""

    def answer(self, request: SimulatedRequest, error: str = "") -> None:
        """End a request."""
        request.ended_ns, request.error = self._timeline.now_ns, error
        request.end()


class DefaultStation(Station):
    """A model without a batcher: each request is executed alone, in order of arrival.

    References
    ----------
    core: src/dynamic_batch_scheduler.cc with a batch size of 1
    """

    def __init__(
        self,
        timeline: Timeline,
        execute: Execute,
        count: int,
        admission: StationAdmission | None = None,
    ) -> None:
        super().__init__(timeline, execute, count, admission)
        self._waiting: deque[SimulatedRequest] = deque()

    def add(self, request: SimulatedRequest) -> None:
        """Append a request."""
        request.queued_ns = self._timeline.now_ns
        self._waiting.append(request)
        self.advance()

    def _start_ready(self) -> None:
        while self._waiting and self._idle:
            self._stage((self._waiting.popleft(),), self._idle.popleft())
