"""Counts of a model's batches, with the reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from blsnb.printable import counted, printable
from blsnb.trace.events import Call
from blsnb.trace.facts import Batching, added

Because: TypeAlias = tuple[str, str]
"""Kind of a reason, by which it is counted, and the reason as a sentence."""


@dataclass(frozen=True, repr=False)
class ModelBatching:
    """How the requests of one model version were batched since it was loaded.

    Parameters
    ----------
    batcher
        ``"dynamic_batching"``, ``"sequence_batching"``, or empty: each request is
        executed alone.
    sizes
        Number of executions by batch size: the sum of the first dimensions of their
        requests, as in Triton's ``batch_stats``.
    requests
        Number of executions by number of requests.
    sent_because
        Number of executions by the reason why they started.
    not_joined_because
        Number of times that a waiting request was not part of a batch, by reason; the
        first 64 waiting requests of each batch are counted.
    """

    name: str
    version: int
    batcher: str = ""
    sizes: Mapping[int, int] = field(default_factory=dict)
    requests: Mapping[int, int] = field(default_factory=dict)
    sent_because: Mapping[str, int] = field(default_factory=dict)
    not_joined_because: Mapping[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        name = printable(self.name)
        requests = counted(self.request_count, "request")
        executions = counted(self.execution_count, "execution")
        return f"<ModelBatching {name} {self.version}: {requests} in {executions}>"

    @property
    def execution_count(self) -> int:
        """Number of calls of ``execute``."""
        return sum(self.requests.values())

    @property
    def request_count(self) -> int:
        """Number of executed requests."""
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
        executed: Sequence[Call],
        size: int,
        runs: tuple[str, ...],
        sent_because: Because,
        left_out: Iterable[tuple[Call, Because]],
        execution: int,
    ) -> None:
        """Count a batch, and record the reasons on its calls and on waiting ones.

        Parameters
        ----------
        executed
            The calls of its requests, without null requests.
        size
            Batch size.
        runs
            Ids of their runs.
        sent_because
            Why it starts now with these requests.
        left_out
            Waiting calls, each with the reason why it is not part of the batch.
        execution
            Number of the execution.
        """
        self._sizes[size] += 1
        self._requests[len(executed)] += 1
        cause, words = sent_because
        self._sent[cause] += 1
        runs = runs if len(runs) > 1 else ()
        joined = Batching(execution, True, cause, words, runs)
        for call in executed:
            call.batching = added(call.batching, joined)
        for call, (cause, words) in left_out:
            self._not_joined[cause] += 1
            apart = Batching(execution, False, cause, words)
            call.batching = added(call.batching, apart)

    def taken(self, name: str, version: int, batcher: str) -> ModelBatching:
        """Return the present counts."""
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
