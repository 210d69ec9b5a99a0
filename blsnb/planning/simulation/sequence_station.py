"""A model with the sequence batcher of the engine, under load."""

from __future__ import annotations

from typing import Any

from blsnb.engine.scheduling.batching.batch import Queued
from blsnb.engine.scheduling.sequences.batcher import SequenceBatcher
from blsnb.engine.scheduling.sequences.rules import EXPIRED, SequenceRefused
from blsnb.model.config import ModelConfig
from blsnb.planning.simulation.admission import StationAdmission
from blsnb.planning.simulation.station import Execute, SimulatedRequest, Station
from blsnb.planning.simulation.timeline import Timeline

_CANCELLED = "cancelled with its sequence"


class SequenceStation(Station):
    """A model with ``sequence_batching``, direct or oldest."""

    def __init__(
        self,
        timeline: Timeline,
        execute: Execute,
        count: int,
        config: ModelConfig,
        admission: StationAdmission | None = None,
    ) -> None:
        super().__init__(timeline, execute, count, admission)
        self._batcher: SequenceBatcher[SimulatedRequest] = SequenceBatcher(
            config, count, explains=False
        )
        self._wake_ns = -1

    def add(self, request: SimulatedRequest) -> None:
        """Append a request to its sequence, or refuse it."""
        now_ns = request.queued_ns = self._timeline.now_ns
        fields = request.fields
        queued = Queued(request, request.size, {}, timeout_us=fields.timeout_us)
        try:
            self._batcher.add(queued, fields.correlation_id, fields.flags, now_ns)
        except SequenceRefused as refused:
            self.answer(request, refused.message)
            return
        self.advance()

    def _start_ready(self) -> None:
        decision = self._batcher.decide(self._timeline.now_ns, self._idle)
        for batch in decision.batches:
            self._idle.remove(batch.instance)
            members = [queued.request for queued in batch.members if queued is not None]
            self._stage(members, batch.instance, batch)
        for queued in decision.rejected:
            self.answer(queued.request, EXPIRED)
        for queued in decision.cancelled:
            self.answer(queued.request, _CANCELLED)
        if decision.wake_ns is not None:
            self._wake(decision.wake_ns)

    def _finished(self, source: Any) -> None:
        self._batcher.done(source, self._timeline.now_ns)

    def _wake(self, ns: int) -> None:
        # A later time replaces an earlier one that was not reached: nothing is due.
        if not self._timeline.now_ns < self._wake_ns <= ns:
            self._wake_ns = ns
            self._timeline.at(ns, self._woken)

    def _woken(self) -> None:
        if self._timeline.now_ns >= self._wake_ns:
            self._wake_ns = -1
        self.advance()
