"""How long a request takes where dynamic batching takes several at once."""

from __future__ import annotations

from benchmarks.goal import Goal
from benchmarks.row import Row
from benchmarks.sides import TIMESTAMPS, TRITON, Question, Sides

CONCURRENCIES = (1, 2, 4, 8, 16, 32)
CALLS, ROUNDS = 20, 5


def run(sides: Sides) -> list[Row]:
    """Measure a model that takes a millisecond for a batch of any size."""
    questions = {_what(tasks): _question(tasks) for tasks in CONCURRENCIES}
    found = sides.compare(questions, ROUNDS)
    return [_row(tasks, found) for tasks in CONCURRENCIES]


def _what(tasks: int) -> str:
    return f"dynamic batching, {tasks} at once, per request"


def _question(tasks: int) -> Question:
    asked = {"MODEL": "batched", "CONCURRENCY": tasks, "CALLS": CALLS}
    return ("measure_fan_out", asked)


def _row(tasks: int, found: dict[tuple[str, str], float]) -> Row:
    what, requests = _what(tasks), tasks * CALLS
    other = found.get((what, TRITON))
    each = None if other is None else other / requests
    return Row(what, found[what, TIMESTAMPS] / requests, "µs", each, goal=Goal(1))
