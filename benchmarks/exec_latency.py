"""Duration of ``exec()`` of an identity model."""

from __future__ import annotations

from benchmarks.row import Goal, Row
from benchmarks.servers import TENSORS, TIMESTAMPS, TRITON, Servers

SIZES = (64, 4096)
ROUNDS, CALLS = 15, 300
GOALS = {TIMESTAMPS: Goal(1 / 20), TENSORS: Goal(1 / 10)}


def run(servers: Servers) -> list[Row]:
    """Measure at both trace levels."""
    found = servers.compare(
        {
            f"{size:,} B": (
                "measure_exec",
                {"MODEL": "identity", "BYTES_EACH": size, "CALLS": CALLS},
            )
            for size in SIZES
        },
        ROUNDS,
        tuple(GOALS),
    )
    return [
        Row(
            f"exec(), {size:,} B, trace at {level}",
            found[f"{size:,} B", level],
            "µs",
            found.get((f"{size:,} B", TRITON)),
            goal=goal,
        )
        for level, goal in GOALS.items()
        for size in SIZES
    ]
