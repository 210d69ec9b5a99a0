"""DynamicQueue: requests on their way, as the dynamic batcher sees them."""

from __future__ import annotations

from collections.abc import Iterable

from blsnb.engine.instance.executor import number_execution
from blsnb.engine.instance.inputs import Reshapes
from blsnb.engine.instance.pool import InstancePool
from blsnb.engine.instance.slot import Place
from blsnb.engine.metrics.batching import Batched, BatchingCounts, Because
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
from blsnb.engine.scheduling.queue_scheduler import Moves, Seat, Start
from blsnb.engine.scheduling.sequences.batcher import SequenceBatch
from blsnb.model.config import ModelConfig

_TIMED_OUT = ("Request timeout expired", "UNAVAILABLE")
_CANCELLED = ("", "CANCELLED")


class Arrivals:
    """Says of a request what a batcher must know."""

    def __init__(self, config: ModelConfig) -> None:
        self._reshapes = Reshapes(config)
        self._batch_axes = 1 if config.max_batch_size > 0 else 0

    def of(self, seat: Seat) -> Queued[Seat]:
        """Return what is known of a request, and let it know its place."""
        message = seat.inflight.message
        inputs = self._reshapes.inward(message.inputs)
        axes = self._batch_axes
        seat.queued = Queued(
            seat,
            inputs[0].shape[0] if axes and inputs else 1,
            {ref.name: ref.shape[axes:] for ref in inputs},
            message.fields.priority,
            message.fields.timeout_us,
            seat.inflight.is_cancelled,
        )
        return seat.queued


def count_batch(
    counts: BatchingCounts,
    members: Iterable[Queued[Seat]],
    batch: Batch[Seat] | SequenceBatch[Seat],
    execution: int,
) -> None:
    """Count a batch whose synthetic requests are left out of ``members``."""
    counts.count(
        [_batched(queued) for queued in members],
        _because(batch.sent_because),
        (
            (queued.request.inflight.call, _because(reason))
            for queued, reason in batch.left_out
        ),
        execution,
    )


def _batched(queued: Queued[Seat]) -> Batched:
    inflight = queued.request.inflight
    return Batched(inflight.call, inflight.root.record.id, queued.size)


def _because(reason: Reason) -> Because:
    return reason.cause.value, reason.words


class DynamicQueue:
    """The queue of a model with ``dynamic_batching``.

    References
    ----------
    core: src/dynamic_batch_scheduler.cc
    """

    def __init__(
        self, config: ModelConfig, pool: InstancePool, statistics: ModelStatistics
    ) -> None:
        self._batcher: DynamicBatcher[Seat] = DynamicBatcher(config)
        self._arrivals = Arrivals(config)
        self._pool = pool
        self._counts = statistics.batching
        self.preserve_ordering = self._batcher.preserve_ordering

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._batcher)

    def add(self, seat: Seat, now_ns: int) -> None:
        """Let a request wait.

        Raises
        ------
        RequestError
            The queue is full.
        """
        try:
            self._batcher.add(self._arrivals.of(seat), now_ns)
        except QueueFull:
            prefix = seat.inflight.message.fields.prefix
            text = f"{prefix}Exceeds maximum queue size"
            raise RequestError(text, "UNAVAILABLE") from None

    def decide(self, now_ns: int) -> Moves:
        """Say what to do now."""
        return self._moves(self._batcher.decide(now_ns, self._pool.idle_count))

    def _moves(self, decision: Decision[Seat]) -> Moves:
        refused = [(queued.request, *_TIMED_OUT) for queued in decision.rejected]
        refused += [(queued.request, *_CANCELLED) for queued in decision.cancelled]
        starts = [self._start(batch, self._pool.claim()) for batch in decision.batches]
        return Moves(starts, refused, decision.wake_ns)

    def _start(self, batch: Batch[Seat], place: Place) -> Start:
        members = list(batch.members)
        number = number_execution()
        count_batch(self._counts, members, batch, number)
        seats = [queued.request for queued in members]
        inflights = [seat.inflight for seat in seats]
        return Start(inflights, seats, place, batch, number)

    def remove(self, seat: Seat) -> None:
        """Forget a request whose caller has left."""
        assert seat.queued is not None
        self._batcher.remove(seat.queued)

    def done(self, start: Start, now_ns: int) -> list[Seat]:
        """Learn that requests were executed: nothing follows from it."""
        return []

    def resized(self) -> None:
        """Form so many batches ahead as there are instances now."""
        self._batcher.resize(len(self._pool.instances))


class StagedDynamicQueue(DynamicQueue):
    """The same on a server that limits rates.

    A batch may grow until it begins, so what waits for that is only its instance.
    """

    def __init__(
        self, config: ModelConfig, pool: InstancePool, statistics: ModelStatistics
    ) -> None:
        super().__init__(config, pool, statistics)
        self._staged = 0
        self._refused: list[tuple[Seat, str, str]] = []

    def decide(self, now_ns: int) -> Moves:
        """Say what to do now: of the starts only the instances are known."""
        idle = self._pool.idle_count + self._staged
        moves = self._moves(self._batcher.decide(now_ns, idle, 0))
        refused = [*self._refused, *moves.refused]
        self._refused = []
        starts = []
        while self._batcher.formed_count > self._staged and self._pool.idle_count:
            self._staged += 1
            starts.append(Start([], [], self._pool.claim(), None, 0))
        return Moves(starts, refused, moves.wake_ns)

    def fill(self, staged: Start, now_ns: int) -> Start | None:
        """Return what is executed in a place that may begin now."""
        idle = self._pool.idle_count + self._staged
        self._staged -= 1
        decision = self._batcher.decide(now_ns, idle, 1)
        # Told with what is decided next, which is at once.
        self._refused += self._moves(decision._replace(batches=())).refused
        for batch in decision.batches:
            return self._start(batch, staged.place)
        return None
