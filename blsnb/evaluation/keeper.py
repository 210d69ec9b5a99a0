"""Which runs of an evaluation are kept whole."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Mapping

from blsnb.evaluation.plain import RowResult

Heap = list[tuple[float, int]]
"""Badness and negated number of each kept row; the first one leaves next."""
MAX_TEXTS = 50
"""Maximum number of error texts whose runs are kept."""


class Keeper:
    """The rows to keep: first failures by text, slowest, and worst of each metric.

    It knows numbers and values only, so that a worker can decide with it, too.

    Parameters
    ----------
    limit
        Maximum number of rows for each reason.
    higher_is_better
        Names of the metrics, each with its direction.
    """

    def __init__(
        self, limit: int, higher_is_better: Mapping[str, bool] | None = None
    ) -> None:
        self._limit = limit
        self._directions = dict(higher_is_better or {})
        self._slowest: Heap = []
        self._worst: dict[str, Heap] = {name: [] for name in self._directions}
        self._failures: dict[str, list[int]] = {}
        self._uses: Counter[int] = Counter()

    def __contains__(self, number: int) -> bool:
        """Whether a row is kept."""
        return number in self._uses

    def offer(self, result: RowResult, metrics: Mapping[str, float]) -> list[int]:
        """Consider a row; return the numbers of rows that are no longer kept."""
        if not self._limit:
            return []
        if result.error:
            self._offer_failure(result)
        dropped = self._push(self._slowest, result.latency_us, result.number)
        for name, value in metrics.items():
            if not math.isnan(value):
                badness = -value if self._directions[name] else value
                dropped += self._push(self._worst[name], badness, result.number)
        return dropped

    def slowest(self) -> list[int]:
        """Return the slowest rows, the slowest first."""
        return _ranked(self._slowest)

    def worst(self, metric: str) -> list[int]:
        """Return the worst rows of a metric, the worst first."""
        return _ranked(self._worst[metric])

    def failures(self) -> dict[str, list[int]]:
        """Return the first failed rows of each error text."""
        return {text: sorted(rows) for text, rows in self._failures.items()}

    def _offer_failure(self, result: RowResult) -> None:
        rows = self._failures.get(result.error)
        if rows is None:
            if len(self._failures) >= MAX_TEXTS:
                return
            rows = self._failures[result.error] = []
        if len(rows) < self._limit:
            rows.append(result.number)
            self._uses[result.number] += 1

    def _push(self, heap: Heap, badness: float, number: int) -> list[int]:
        entry = badness, -number
        if len(heap) < self._limit:
            heapq.heappush(heap, entry)
            self._uses[number] += 1
            return []
        if entry <= heap[0]:
            return []
        _, left = heapq.heapreplace(heap, entry)
        self._uses[number] += 1
        self._uses[-left] -= 1
        if self._uses[-left]:
            return []
        del self._uses[-left]
        return [-left]


def _ranked(heap: Heap) -> list[int]:
    return [-number for _, number in sorted(heap, reverse=True)]
