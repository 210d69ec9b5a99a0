"""Durations of nested calls, concurrent calls and streams."""

from __future__ import annotations

from benchmarks.repository import DEPTH, LINK
from benchmarks.row import Goal, Row
from benchmarks.servers import TIMESTAMPS, TRITON, BenchmarkRequest, Servers

ROUNDS = 10
RESPONSES, CALLS = 1000, 100
REQUESTS: dict[str, BenchmarkRequest] = {
    f"a chain of {DEPTH} models": (
        "measure_exec",
        {"MODEL": f"{LINK}0", "BYTES_EACH": 64, "CALLS": 20},
    ),
    f"{CALLS} concurrent async_exec()": (
        "measure_fan_out",
        {"MODEL": "identity", "CONCURRENCY": CALLS, "CALLS": 1},
    ),
    f"a stream of {RESPONSES:,} responses": ("measure_stream", {"COUNT": RESPONSES}),
}


def run(servers: Servers) -> list[Row]:
    """Measure each request; none may be slower than on the real server."""
    found = servers.compare(REQUESTS, ROUNDS)
    return [
        Row(
            what,
            found[what, TIMESTAMPS],
            "µs",
            found.get((what, TRITON)),
            goal=Goal(1),
        )
        for what in REQUESTS
    ]
