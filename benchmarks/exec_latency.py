"""How long ``exec()`` of an identity model takes."""

from __future__ import annotations

from benchmarks.goal import Goal
from benchmarks.row import Row
from benchmarks.sides import TENSORS, TIMESTAMPS, TRITON, Sides

SIZES = (64, 4096)
ROUNDS, CALLS = 15, 300
GOALS = {TIMESTAMPS: Goal(1 / 20), TENSORS: Goal(1 / 10)}


def run(sides: Sides) -> list[Row]:
    """Measure at both levels of the trace."""
    found = sides.compare(
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
