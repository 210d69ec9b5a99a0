"""How long calls below calls, calls beside calls, and streams take."""

from __future__ import annotations

from benchmarks.goal import Goal
from benchmarks.repository import DEPTH, LINK
from benchmarks.row import Row
from benchmarks.sides import TIMESTAMPS, TRITON, Question, Sides

ROUNDS = 10
RESPONSES, CALLS = 1000, 100
QUESTIONS: dict[str, Question] = {
    f"a chain of {DEPTH} models": (
        "measure_exec",
        {"MODEL": f"{LINK}0", "BYTES_EACH": 64, "CALLS": 20},
    ),
    f"{CALLS} async_exec() at once": (
        "measure_fan_out",
        {"MODEL": "identity", "CONCURRENCY": CALLS, "CALLS": 1},
    ),
    f"a stream of {RESPONSES:,} responses": ("measure_stream", {"COUNT": RESPONSES}),
}


def run(sides: Sides) -> list[Row]:
    """Measure; nothing may be slower than on the real server."""
    found = sides.compare(QUESTIONS, ROUNDS)
    return [
        Row(
            what,
            found[what, TIMESTAMPS],
            "µs",
            found.get((what, TRITON)),
            goal=Goal(1),
        )
        for what in QUESTIONS
    ]
