"""How a model's requests were batched: counted, with the reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from blsnb.trace.events import Call
from blsnb.trace.facts import Batching, added

Because: TypeAlias = tuple[str, str]
"""A kind of reason, by which it is counted, and the reason with numbers and names."""


class Batched(NamedTuple):
    """One request of a batch.

    Parameters
    ----------
    size
        What it adds to the batch size.
    """

    call: Call
    run_id: str
    size: int


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

    def count(
        self,
        executed: Sequence[Batched],
        sent_because: Because,
        left_out: Iterable[tuple[Call, Because]],
        execution: int,
    ) -> None:
        """Count a batch, and record the reasons on its calls and those left behind.

        Parameters
        ----------
        executed
            Its requests, without the synthetic ones that only fill a slot.
        sent_because
            Why it left now and with no more than these.
        left_out
            Calls that wait behind it, each with the reason.
        execution
            The number that its ``execute`` will have.
        """
        self._sizes[sum(each.size for each in executed)] += 1
        self._requests[len(executed)] += 1
        cause, words = sent_because
        self._sent[cause] += 1
        joined = Batching(execution, True, cause, words, _runs_of(executed))
        for each in executed:
            _keep(each.call, joined)
        for call, (cause, words) in left_out:
            self._not_joined[cause] += 1
            _keep(call, Batching(execution, False, cause, words))

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


def _runs_of(executed: Iterable[Batched]) -> tuple[str, ...]:
    """Return the ids of the runs of a batch if there are several."""
    runs = tuple(dict.fromkeys(each.run_id for each in executed))
    return runs if len(runs) > 1 else ()


def _keep(call: Call, new: Batching) -> None:
    call.batching = added(call.batching, new)
