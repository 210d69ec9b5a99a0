"""A model with the dynamic batcher of the engine, under load."""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import Any

from blsnb.engine.scheduling.batching.batch import Batch, Decision, Queued, QueueFull
from blsnb.engine.scheduling.batching.dynamic_batcher import DynamicBatcher
from blsnb.engine.scheduling.batching.priority_queue import PriorityQueue
from blsnb.model.config import ModelConfig
from blsnb.planning.simulation.admission import SimulatedTicket, StationAdmission
from blsnb.planning.simulation.station import Execute, SimulatedRequest, Station
from blsnb.planning.simulation.timeline import Timeline


class BatchingStation(Station):
    """A model with ``dynamic_batching``, its priorities and its queue policies.

    As in the engine, a batch of a server with rate limits may grow until it is
    admitted: only its instance is staged.
    """

    def __init__(
        self,
        timeline: Timeline,
        execute: Execute,
        count: int,
        config: ModelConfig,
        admission: StationAdmission | None = None,
    ) -> None:
        super().__init__(timeline, execute, count, admission)
        self._batcher: DynamicBatcher[SimulatedRequest] = DynamicBatcher(
            config, explains=False
        )
        self._batcher.resize(count)
        self._policies = PriorityQueue[Any](config.message.dynamic_batching)
        self._delays = self._policies.may_delay
        self._staged = 0
        self._wake_ns = -1
        self._order: deque[SimulatedRequest] = deque()
        """Requests without a delivered response, if the order is preserved."""
        self._executed: set[SimulatedRequest] = set()
        """Those of them that wait for the delivery of earlier ones."""

    def add(self, request: SimulatedRequest) -> None:
        """Append a request, or refuse it at the limit of the queue."""
        now_ns = request.queued_ns = self._timeline.now_ns
        fields = request.fields
        queued = Queued(request, request.size, {}, fields.priority, fields.timeout_us)
        try:
            self._batcher.add(queued, now_ns)
        except QueueFull:
            request.ended_ns, request.error = now_ns, "Exceeds maximum queue size"
            self.refused += 1
            request.end()
            return
        if self._batcher.preserve_ordering:
            self._order.append(request)
        self.advance()

    def _start_ready(self) -> None:
        if self._admission is None:
            now_ns = self._timeline.now_ns
            self._apply(self._batcher.decide(now_ns, len(self._idle)))
            return
        self._apply(self._decide(len(self._idle) + self._staged, 0))
        while self._batcher.formed_count > self._staged and self._idle:
            self._staged += 1
            instance = self._idle.popleft()
            self._admission.stage(instance, partial(self._admitted, instance))

    def _admitted(self, instance: int, ticket: SimulatedTicket) -> None:
        """Fill and start the batch of an admitted instance."""
        idle = len(self._idle) + self._staged
        self._staged -= 1
        decision = self._decide(idle, 1)
        self._apply(decision._replace(batches=()))
        for batch in decision.batches:
            self._start(batch, instance, ticket)
        if not decision.batches:
            self._free(instance, None, ticket)
        self.advance()

    def _decide(
        self, idle: int, startable: int | None = None
    ) -> Decision[Batch[SimulatedRequest], SimulatedRequest]:
        return self._batcher.decide(self._timeline.now_ns, idle, startable)

    def _apply(
        self, decision: Decision[Batch[SimulatedRequest], SimulatedRequest]
    ) -> None:
        for batch in decision.batches:
            self._start(batch, self._idle.popleft(), None)
        if decision.rejected:
            self.refused += len(decision.rejected)
            for queued in decision.rejected:
                self.answer(queued.request, "Request timeout expired")
        if decision.wake_ns is not None:
            self._wake(decision.wake_ns)

    def _start(
        self,
        batch: Batch[SimulatedRequest],
        instance: int,
        ticket: SimulatedTicket | None,
    ) -> None:
        if self._delays:
            for queued in batch.members:
                queued.request.delayed = self._is_late(queued)
        members = [queued.request for queued in batch.members]
        self.start(members, instance, None, ticket)

    def _is_late(self, queued: Queued[SimulatedRequest]) -> bool:
        """Whether a request expired, and was delayed instead of rejected."""
        policy = self._policies.policy_of(queued.priority)
        deadline_ns = policy.deadline_ns(queued, queued.enqueued_ns)
        return policy.delays and 0 < deadline_ns < self._timeline.now_ns

    def answer(self, request: SimulatedRequest, error: str = "") -> None:
        """End a request."""
        if not self._batcher.preserve_ordering:
            super().answer(request, error)
            return
        request.error = error
        self._executed.add(request)
        while self._order and self._order[0] in self._executed:
            first = self._order.popleft()
            self._executed.remove(first)
            super().answer(first, first.error)

    def _wake(self, ns: int) -> None:
        if ns != self._wake_ns:
            self._wake_ns = ns
            self._timeline.at(ns, self._woken)

    def _woken(self) -> None:
        self._wake_ns = -1
        self.advance()
