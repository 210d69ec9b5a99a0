"""Duration of requests with dynamic batching, and what of it the model does not take.

The model waits for a millisecond in each execution, which takes longer. Its own time is
that of the shortest wait of a round, measured in the model, for each execution of the
round. So a wait that ends late, because another thread holds Python's lock, counts
against the server. What is left is divided by the number of requests: smaller batches
than those of the other server are no advantage.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.row import Goal, Row, ratio_text
from benchmarks.servers import TIMESTAMPS, TRITON, BenchmarkRequest, Servers

CONCURRENCIES = (1, 2, 4, 8, 16, 32)
CALLS, ROUNDS = 20, 9
MAX_BEYOND = 8
"""Number of concurrent requests up to which the time beyond the model has a goal."""


class Round(NamedTuple):
    """A round of one server, in µs per request."""

    whole: float
    beyond: float
    """What the model does not take itself."""
    batch: float
    """Requests per execution."""


def run(servers: Servers) -> list[Row]:
    """Measure a model that takes a millisecond for a batch of any size."""
    requests = {str(tasks): _request(tasks) for tasks in CONCURRENCIES}
    found = servers.samples(requests, ROUNDS, reading=_reading)
    rounds = {
        (int(key), name): [_round(int(key), taken) for taken in each]
        for (key, name), each in found.items()
    }
    return list(
        itertools.chain(
            *(
                _rows(tasks, rounds[tasks, TIMESTAMPS], rounds.get((tasks, TRITON), []))
                for tasks in CONCURRENCIES
            )
        )
    )


def _request(tasks: int) -> BenchmarkRequest:
    inputs = {"MODEL": "batched", "CONCURRENCY": tasks, "CALLS": CALLS}
    return ("measure_fan_out", inputs)


def _reading(outputs: dict[str, np.ndarray]) -> list[float]:
    """Return the duration of all requests, then that of the wait of each execution."""
    return [*outputs["NANOSECONDS"], *outputs["OWN_NANOSECONDS"]]


def _round(tasks: int, taken: Sequence[float]) -> Round:
    whole, *waits = taken
    requests = tasks * CALLS
    beyond = whole - len(waits) * min(waits)
    return Round(whole / requests, beyond / requests, requests / len(waits))


def _rows(tasks: int, ours: list[Round], other: list[Round]) -> list[Row]:
    what = f"dynamic batching, {tasks} at once"
    goal = Goal(0.5) if tasks <= MAX_BEYOND else None
    return [
        _row(f"{what}, per request", "whole", "µs", ours, other, Goal(1)),
        _row(f"{what}, beyond the model's own time", "beyond", "µs", ours, other, goal),
        _row(f"{what}, requests per execution", "batch", "", ours, other, None),
    ]


def _row(
    what: str,
    name: str,
    unit: str,
    ours: list[Round],
    other: list[Round],
    goal: Goal | None,
) -> Row:
    mine, theirs = ([getattr(each, name) for each in side] for side in (ours, other))
    ratios = [one / two for one, two in zip(mine, theirs, strict=False)]
    return Row(
        what,
        statistics.median(mine),
        unit,
        statistics.median(theirs) if theirs else None,
        goal=goal,
        spread=_spread(ratios),
    )


def _spread(ratios: list[float]) -> str:
    if not ratios:
        return ""
    return f"{ratio_text(min(ratios))} to {ratio_text(max(ratios))}"
