"""Duration of a whole BLS call, from ``InferenceRequest(...)`` to ``as_numpy()``."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence

from benchmarks.row import Goal, Row, ratio_text
from benchmarks.servers import TENSORS, TIMESTAMPS, TRITON, Servers

CALLS = {"64 B": (64, 300), "4 KB": (4 << 10, 300)} | {
    "1 MB": (1 << 20, 100),
    "16 MB": (16 << 20, 10),
}
"""Bytes of the tensor, and number of calls in each round, by the name of the size."""
ROUNDS = 10
LEVELS = (TIMESTAMPS, TENSORS)
P99 = 0.99
MEDIAN_GOAL = {"64 B": Goal(1 / 15), "4 KB": Goal(1 / 15)}


def run(servers: Servers) -> list[Row]:
    """Measure p50 and p99 for each size at both trace levels."""
    rows = []
    for size, (byte_count, calls) in CALLS.items():
        inputs = {"MODEL": "identity", "BYTES_EACH": byte_count, "CALLS": calls}
        found = servers.samples({size: ("measure_call", inputs)}, ROUNDS, LEVELS)
        other = found.get((size, TRITON))
        for level in LEVELS:
            rows += _rows(f"{size}, trace at {level}", size, found[size, level], other)
    return rows


def _rows(
    what: str, size: str, ours: list[list[float]], other: list[list[float]] | None
) -> list[Row]:
    all_ours = list(itertools.chain(*ours))
    all_other = list(itertools.chain(*(other or ())))
    return [
        Row(
            f"a whole call, {what}, p50",
            statistics.median(all_ours),
            "µs",
            statistics.median(all_other) if all_other else None,
            goal=MEDIAN_GOAL.get(size),
            spread="" if other is None else _spread(ours, other),
        ),
        Row(
            f"a whole call, {what}, p99",
            _percentile(all_ours, P99),
            "µs",
            _percentile(all_other, P99) if all_other else None,
            goal=Goal(1),
        ),
    ]


def _spread(ours: list[list[float]], other: list[list[float]]) -> str:
    """Return the smallest and the largest ratio of the medians of a round."""
    ratios = [
        statistics.median(one) / statistics.median(two)
        for one, two in zip(ours, other, strict=True)
    ]
    return f"{ratio_text(min(ratios))} to {ratio_text(max(ratios))}"


def _percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[int(share * len(values))]
