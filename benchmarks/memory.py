"""Memory of a recorded call, and growth over a million calls."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path

from benchmarks.child import run_json
from benchmarks.recorded import BYTES_EACH, run_of, server
from benchmarks.row import Goal, Row
from benchmarks.servers import Servers

HUNT = Path(__file__).parents[1] / "tests" / "properties" / "leak_hunt.py"
LEVELS = {
    "off": None,
    "timestamps": Goal(400, unit="B"),
    "tensors": Goal(800, unit="B"),
}
"""Trace levels, with the bytes that a recorded call may take."""
CALLS, TOTAL, PER_RUN = 5000, 1_000_000, 1000
FULL = 100_000
"""Calls after which the runs have as many calls as they may keep."""


def run(servers: Servers) -> list[Row]:
    """Measure each trace level, then the growth of resident memory."""
    rows = [
        Row(
            f"memory per recorded call of {BYTES_EACH} B, trace at {level}",
            _per_call(level),
            "B",
            goal=goal,
        )
        for level, goal in LEVELS.items()
    ]
    return [*rows, _slope()]


def _per_call(level: str) -> float:
    with server(level) as ours:
        run_of(ours, 10)
        tracemalloc.start()
        run_of(ours, CALLS)
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return kept / CALLS


def _slope() -> Row:
    """Measure the growth from call 100,000 to the last, in a process of its own."""
    samples = run_json(HUNT, "calls", TOTAL, PER_RUN)["samples"]
    (first, before), *_, (last, after) = (each for each in samples if each[0] >= FULL)
    grown = (after - before) / (last - first)
    what = f"growth of resident memory over {TOTAL:,} calls, per call"
    return Row(what, grown, "B", goal=Goal(1, unit="B"))
