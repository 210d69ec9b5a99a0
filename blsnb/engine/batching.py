"""How a model's requests were batched: counted, with the reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from blsnb.trace.batching import Batching, added

if TYPE_CHECKING:
    from blsnb.engine.queue_scheduler import Seat
    from blsnb.scheduling.batch import Batch
    from blsnb.scheduling.queued import Queued
    from blsnb.scheduling.sequence_batcher import SequenceBatch


@dataclass(frozen=True)
class ModelBatching:
    """How the requests of one model version were batched since it was loaded.

    Parameters
    ----------
    batcher
        ``"dynamic_batching"``, ``"sequence_batching"``, or nothing: each request is
        executed alone.
    sizes
        How many executions had each batch size: the first dimensions of their
        requests together, as in Triton's ``batch_stats``.
    requests
        How many executions had so many requests.
    sent_because
        How many executions left for each reason.
    not_joined_because
        How often a request that waited was not taken along, for each reason. Of
        those that wait behind a batch, the first 64 are asked.
    """

    name: str
    version: int
    batcher: str = ""
    sizes: Mapping[int, int] = field(default_factory=dict)
    requests: Mapping[int, int] = field(default_factory=dict)
    sent_because: Mapping[str, int] = field(default_factory=dict)
    not_joined_because: Mapping[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"<ModelBatching {self.name} {self.version}: {self.request_count} requests "
            f"in {self.execution_count} executions>"
        )

    @property
    def execution_count(self) -> int:
        """How often ``execute`` was called."""
        return sum(self.requests.values())

    @property
    def request_count(self) -> int:
        """How many requests that were."""
        return sum(size * count for size, count in self.requests.items())


class BatchingCounts:
    """Counts the batches of one model version, under its scheduler's lock."""

    __slots__ = ("_not_joined", "_requests", "_sent", "_sizes")

    def __init__(self) -> None:
        self._sizes: Counter[int] = Counter()
        self._requests: Counter[int] = Counter()
        self._sent: Counter[str] = Counter()
        self._not_joined: Counter[str] = Counter()

    def start(
        self,
        members: list[Queued[Seat]],
        batch: Batch[Seat] | SequenceBatch[Seat],
        execution: int,
    ) -> None:
        """Count a batch, and let its calls and those it leaves behind know why.

        Parameters
        ----------
        members
            Its requests, without those that nobody sent.
        execution
            The number that its ``execute`` will have.
        """
        self._sizes[sum(queued.size for queued in members)] += 1
        self._requests[len(members)] += 1
        cause, words = batch.sent_because
        self._sent[cause.value] += 1
        runs = _runs_of(members)
        joined = Batching(execution, True, cause.value, words, runs)
        for queued in members:
            _keep(queued, joined)
        for queued, (cause, words) in batch.left_out:
            self._not_joined[cause.value] += 1
            _keep(queued, Batching(execution, False, cause.value, words))

    def taken(self, name: str, version: int, batcher: str) -> ModelBatching:
        """Return the counts as they are now."""
        return ModelBatching(
            name,
            version,
            batcher,
            _ordered(self._sizes),
            _ordered(self._requests),
            dict(self._sent.copy().most_common()),
            dict(self._not_joined.copy().most_common()),
        )


def _ordered(counts: Counter[int]) -> dict[int, int]:
    return dict(sorted(counts.copy().items()))


def _runs_of(members: Iterable[Queued[Seat]]) -> tuple[str, ...]:
    """Return the runs of several requests, if these are several, too."""
    records = (queued.request.inflight.root.record for queued in members)
    runs = tuple(dict.fromkeys(record.id for record in records))
    return runs if len(runs) > 1 else ()


def _keep(queued: Queued[Seat], new: Batching) -> None:
    call = queued.request.inflight.call
    call.batching = added(call.batching, new)
