"""Durations of ``import blsnb`` and ``%load_ext blsnb`` in new processes."""

from __future__ import annotations

import functools

from benchmarks.child import run_json
from benchmarks.rounds import medians
from benchmarks.row import Goal, Row
from benchmarks.servers import Servers

ROUNDS = 15
TIMED = (
    "import time; start = time.perf_counter(); import {}; "
    "print(1000 * (time.perf_counter() - start))"
)


def run(servers: Servers) -> list[Row]:
    """Measure in comparison with NumPy, which blsnb imports."""
    subjects = {name: functools.partial(_imported, name) for name in ("blsnb", "numpy")}
    found = medians({"extension": _loaded} | subjects, ROUNDS)
    blsnb, numpy, extension = (found[it] for it in ("blsnb", "numpy", "extension"))
    return [
        Row("import blsnb", blsnb, "ms", numpy, "import numpy", Goal(1.3)),
        Row("%load_ext in a warm kernel", extension, "ms", goal=Goal(80, unit="ms")),
    ]


def _loaded() -> list[float]:
    return [run_json("-m", "benchmarks.kernel", 0)["load_ext"]]


def _imported(name: str) -> list[float]:
    return [run_json("-c", TIMED.format(name))]
