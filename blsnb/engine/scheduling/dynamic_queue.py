"""Applies the decisions of `batching.dynamic_batcher` to requests in flight."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from blsnb.engine.instance.executor import number_execution
from blsnb.engine.instance.inputs import Reshapes
from blsnb.engine.instance.pool import InstancePool
from blsnb.engine.instance.slot import PoolSlot
from blsnb.engine.metrics.batching import BatchingCounts, Because
from blsnb.engine.metrics.statistics import ModelStatistics
from blsnb.engine.request.validation import RequestError
from blsnb.engine.scheduling.batching.batch import (
    Batch,
    Decision,
    Queued,
    QueueFull,
    Reason,
)
from blsnb.engine.scheduling.batching.dynamic_batcher import DynamicBatcher
from blsnb.engine.scheduling.request_queue import (
    PendingRequest,
    Queue,
    QueueDecision,
    ReadyBatch,
)
from blsnb.engine.scheduling.sequences.instance_slots import SequenceBatch
from blsnb.model.config import ModelConfig

_EXPIRED = "Request timeout expired"


class QueueEntries:
    """Describes requests to a batcher."""

    def __init__(self, config: ModelConfig) -> None:
        self._reshapes = Reshapes(config)
        self._batch_axes = 1 if config.max_batch_size > 0 else 0

    def new(self, pending: PendingRequest) -> Queued[PendingRequest]:
        """Return the queue entry of a request, and store it there."""
        message = pending.inflight.message
        inputs = self._reshapes.to_model(message.inputs)
        axes = self._batch_axes
        pending.queued = Queued(
            pending,
            inputs[0].shape[0] if axes and inputs else 1,
            {ref.name: ref.shape[axes:] for ref in inputs},
            message.fields.priority,
            message.fields.timeout_us,
            pending.inflight.is_cancelled,
        )
        return pending.queued


def refused(
    decision: Decision[Any, PendingRequest], expired: str
) -> list[tuple[PendingRequest, str, str]]:
    """Return the requests that a batcher refuses, with text and code of each."""
    return [
        *((queued.request, expired, "UNAVAILABLE") for queued in decision.rejected),
        *((queued.request, "", "CANCELLED") for queued in decision.cancelled),
    ]


def count_batch(
    counts: BatchingCounts,
    members: Iterable[Queued[PendingRequest]],
    batch: Batch[PendingRequest] | SequenceBatch[PendingRequest],
    execution: int,
) -> None:
    """Count a batch; ``members`` are its requests without null requests."""
    calls, size, runs = [], 0, {}
    # One loop: the next batch waits for it.
    for queued in members:
        inflight = queued.request.inflight
        calls.append(inflight.call)
        size += queued.size
        runs[inflight.root.record.id] = True
    counts.count(
        calls,
        size,
        tuple(runs),
        _because(batch.sent_because),
        (
            (queued.request.inflight.call, _because(reason))
            for queued, reason in batch.left_out
        ),
        execution,
    )


def _because(reason: Reason) -> Because:
    return reason.cause.value, reason.words


class DynamicQueue(Queue):
    """The queue of a model with ``dynamic_batching``.

    References
    ----------
    core: src/dynamic_batch_scheduler.cc
    """

    def __init__(
        self, config: ModelConfig, pool: InstancePool, statistics: ModelStatistics
    ) -> None:
        self._batcher: DynamicBatcher[PendingRequest] = DynamicBatcher(config)
        self._entries = QueueEntries(config)
        self._pool = pool
        self._counts = statistics.batching
        self.preserve_ordering = self._batcher.preserve_ordering

    def __len__(self) -> int:
        return len(self._batcher)

    def add(self, pending: PendingRequest, now_ns: int) -> None:
        """Append a request; raise RequestError if the queue is full."""
        try:
            self._batcher.add(self._entries.new(pending), now_ns)
        except QueueFull:
            prefix = pending.inflight.message.fields.prefix
            text = f"{prefix}Exceeds maximum queue size"
            raise RequestError(text, "UNAVAILABLE") from None

    def decide(self, now_ns: int) -> QueueDecision:
        """Return what to do now."""
        return self._decision(self._batcher.decide(now_ns, self._pool.idle_count))

    def _decision(
        self, decision: Decision[Batch[PendingRequest], PendingRequest]
    ) -> QueueDecision:
        batches = [self._ready(batch, self._pool.claim()) for batch in decision.batches]
        return QueueDecision(batches, refused(decision, _EXPIRED), decision.wake_ns)

    def _ready(self, batch: Batch[PendingRequest], place: PoolSlot) -> ReadyBatch:
        number = number_execution()
        count_batch(self._counts, batch.members, batch, number)
        members = [queued.request for queued in batch.members]
        inflights = [pending.inflight for pending in members]
        return ReadyBatch(inflights, members, place, batch, number)

    def remove(self, pending: PendingRequest) -> None:
        """Remove a request whose caller has given up."""
        assert pending.queued is not None
        self._batcher.remove(pending.queued)

    def resized(self) -> None:
        """Adapt the number of batches that are formed ahead."""
        self._batcher.resize(len(self._pool.instances))


class StagedDynamicQueue(DynamicQueue):
    """The same on a server that limits rates.

    A batch may grow until it is admitted, so only its instance is staged.
    """

    def __init__(
        self, config: ModelConfig, pool: InstancePool, statistics: ModelStatistics
    ) -> None:
        super().__init__(config, pool, statistics)
        self._staged = 0
        self._refused: list[tuple[PendingRequest, str, str]] = []

    def decide(self, now_ns: int) -> QueueDecision:
        """Return empty batches, to be filled when they are admitted."""
        idle = self._pool.idle_count + self._staged
        decision = self._decision(self._batcher.decide(now_ns, idle, 0))
        refused, self._refused = [*self._refused, *decision.refused], []
        batches = []
        while self._batcher.formed_count > self._staged and self._pool.idle_count:
            self._staged += 1
            batches.append(ReadyBatch([], [], self._pool.claim(), None, 0))
        return QueueDecision(batches, refused, decision.wake_ns)

    def fill(self, staged: ReadyBatch, now_ns: int) -> ReadyBatch | None:
        """Return the batch to execute in an admitted place."""
        idle = self._pool.idle_count + self._staged
        self._staged -= 1
        decision = self._batcher.decide(now_ns, idle, 1)
        # Part of the next decision, which follows at once.
        self._refused += self._decision(decision._replace(batches=())).refused
        for batch in decision.batches:
            return self._ready(batch, staged.place)
        return None
