"""Duration of requests with dynamic batching."""

from __future__ import annotations

from benchmarks.row import Goal, Row
from benchmarks.servers import TIMESTAMPS, TRITON, BenchmarkRequest, Servers

CONCURRENCIES = (1, 2, 4, 8, 16, 32)
CALLS, ROUNDS = 20, 5


def run(servers: Servers) -> list[Row]:
    """Measure a model that takes a millisecond for a batch of any size."""
    requests = {_what(tasks): _request(tasks) for tasks in CONCURRENCIES}
    found = servers.compare(requests, ROUNDS)
    return [_row(tasks, found) for tasks in CONCURRENCIES]


def _what(tasks: int) -> str:
    return f"dynamic batching, {tasks} at once, per request"


def _request(tasks: int) -> BenchmarkRequest:
    inputs = {"MODEL": "batched", "CONCURRENCY": tasks, "CALLS": CALLS}
    return ("measure_fan_out", inputs)


def _row(tasks: int, found: dict[tuple[str, str], float]) -> Row:
    what, requests = _what(tasks), tasks * CALLS
    other = found.get((what, TRITON))
    each = None if other is None else other / requests
    return Row(what, found[what, TIMESTAMPS] / requests, "µs", each, goal=Goal(1))
