"""Duration of ``exec()`` of an identity model with tensors of 16 MB."""

from __future__ import annotations

from benchmarks.row import Goal, Row
from benchmarks.servers import TIMESTAMPS, TRITON, Servers

SIZE = 16 << 20
ROUNDS, CALLS = 8, 10
READINGS = {
    "exec(), 16 MB": "NANOSECONDS",
    "exec() and as_numpy() of the response, 16 MB": "WITH_VALUES",
}
GOALS = {
    ("identity", "NANOSECONDS"): Goal(1 / 2),
    ("identity_zero_copy", "NANOSECONDS"): Goal(1 / 50),
}


def run(servers: Servers) -> list[Row]:
    """Measure with copies and without them."""
    return [
        row
        for model in ("identity", "identity_zero_copy")
        for row in _rows(servers, model)
    ]


def _rows(servers: Servers, model: str) -> list[Row]:
    inputs = {"MODEL": model, "BYTES_EACH": SIZE, "CALLS": CALLS}
    suffix = ", BLSNB_ZERO_COPY" if model == "identity_zero_copy" else ""
    rows = []
    for what, output in READINGS.items():
        found = servers.compare(
            {model: ("measure_exec", inputs)},
            ROUNDS,
            reading=lambda answer, output=output: answer[output],
        )
        other = found.get((model, TRITON))
        goal = GOALS.get((model, output))
        value = found[model, TIMESTAMPS]
        rows.append(Row(f"{what}{suffix}", value, "µs", other, goal=goal))
    return rows
