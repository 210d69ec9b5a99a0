"""How long ``exec()`` of an identity model takes with tensors of 16 MB."""

from __future__ import annotations

from benchmarks.goal import Goal
from benchmarks.row import Row
from benchmarks.sides import TIMESTAMPS, TRITON, Sides

SIZE = 16 << 20
ROUNDS, CALLS = 8, 10
READINGS = {
    "exec(), 16 MB": "NANOSECONDS",
    "exec() and as_numpy() of the answer, 16 MB": "WITH_VALUES",
}
GOALS = {
    ("identity", "NANOSECONDS"): Goal(1 / 2),
    ("identity_zero_copy", "NANOSECONDS"): Goal(1 / 50),
}


def run(sides: Sides) -> list[Row]:
    """Measure with copies and without; what is sent without them is frozen before."""
    return [
        row
        for model in ("identity", "identity_zero_copy")
        for row in _rows(sides, model)
    ]


def _rows(sides: Sides, model: str) -> list[Row]:
    asked = {"MODEL": model, "BYTES_EACH": SIZE, "CALLS": CALLS}
    how = ", BLSNB_ZERO_COPY" if model == "identity_zero_copy" else ""
    rows = []
    for what, output in READINGS.items():
        found = sides.compare(
            {model: ("measure_exec", asked)},
            ROUNDS,
            reading=lambda answer, output=output: answer[output],
        )
        other = found.get((model, TRITON))
        goal = GOALS.get((model, output))
        value = found[model, TIMESTAMPS]
        rows.append(Row(f"{what}{how}", value, "µs", other, goal=goal))
    return rows
