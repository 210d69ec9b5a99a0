"""How long ``import blsnb`` and ``%load_ext blsnb`` take, in fresh processes."""

from __future__ import annotations

import functools

from benchmarks.child import ask
from benchmarks.goal import Goal
from benchmarks.rounds import medians
from benchmarks.row import Row
from benchmarks.sides import Sides

ROUNDS = 15
TIMED = (
    "import time; start = time.perf_counter(); import {}; "
    "print(1000 * (time.perf_counter() - start))"
)


def run(sides: Sides) -> list[Row]:
    """Measure beside NumPy, which it needs."""
    subjects = {name: functools.partial(_imported, name) for name in ("blsnb", "numpy")}
    found = medians({"extension": _loaded} | subjects, ROUNDS)
    blsnb, numpy, extension = (found[it] for it in ("blsnb", "numpy", "extension"))
    return [
        Row("import blsnb", blsnb, "ms", numpy, "import numpy", Goal(1.3)),
        Row("%load_ext in a warm kernel", extension, "ms", goal=Goal(150, unit="ms")),
    ]


def _loaded() -> list[float]:
    return [ask("-m", "benchmarks.kernel", 0)["load_ext"]]


def _imported(name: str) -> list[float]:
    return [ask("-c", TIMED.format(name))]
