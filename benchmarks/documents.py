"""Size of a run's document, and the time to make it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.recorded import run_of, server
from benchmarks.rounds import medians
from benchmarks.row import Goal, Row
from benchmarks.servers import Servers
from blsnb.results.run import Run
from blsnb.trace.spans import Trace
from blsnb.views.documents.document import html
from blsnb.views.pictures.snapshot import snapshot

COUNTS = (27, 1000, 10_000)
SMALL = 2
ROUNDS = 5
PICTURE_MS, PICTURE_KB = Goal(100, unit="ms"), Goal(100, unit="KB")
SMALL_MS, SMALL_KB = Goal(3, unit="ms"), Goal(75, unit="KB")


def run(servers: Servers) -> list[Row]:
    """Measure documents with values, and the static picture of the longest run."""
    with server("tensors") as ours:
        traces = {calls: run_of(ours, calls).keep().trace for calls in COUNTS}
        rows = _small(run_of(ours, SMALL))
    for calls, trace in traces.items():
        time_ms, size_kb = _measured(trace, html)
        rows.append(Row(f"document of {calls:,} calls, time", time_ms, "ms"))
        rows.append(Row(f"document of {calls:,} calls, size", size_kb, "KB"))
    what = f"static picture of {COUNTS[-1]:,} calls"
    time_ms, size_kb = _measured(trace, snapshot)
    rows.append(Row(f"{what}, time", time_ms, "ms", goal=PICTURE_MS))
    return [*rows, Row(f"{what}, size", size_kb, "KB", goal=PICTURE_KB)]


def _small(run: Run) -> list[Row]:
    """Measure `run.save` and the saved page."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.html"
        save_ms, _ = _measured(run.trace, lambda _: str(run.save(path)))
        size_kb = path.stat().st_size / 1000
    what = f"run.save() of {SMALL} calls"
    return [
        Row(f"{what}, time", save_ms, "ms", goal=SMALL_MS),
        Row(f"{what}, size", size_kb, "KB", goal=SMALL_KB),
    ]


def _measured(trace: Trace, make: Callable[[Trace], str]) -> tuple[float, float]:
    """Return the duration in milliseconds and the size in kilobytes."""
    found = medians({make: lambda: [_timed(trace, make)]}, ROUNDS)
    return found[make], len(make(trace).encode()) / 1000


def _timed(trace: Trace, make: Callable[[Trace], str]) -> float:
    start = time.perf_counter()
    make(trace)
    return 1000 * (time.perf_counter() - start)
