"""Concurrency of eight simultaneous calls of one model."""

from __future__ import annotations

import functools
import runpy
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from benchmarks.repository import MODELS
from benchmarks.rounds import medians
from benchmarks.row import Goal, Row
from benchmarks.servers import TIMESTAMPS, TRITON, Servers

COUNT, ROUNDS = 8, 25
POOL = "a thread pool of 8"
WORKS = {
    "waits": "execute waits 20 ms",
    "hashes": "execute hashes 8 MB",
}


def run(servers: Servers) -> list[Row]:
    """Measure eight instances, and one."""
    rows = [row for work in WORKS for row in _compared_with_pool(servers, work)]
    return [*rows, _sequential(servers)]


def _compared_with_pool(servers: Servers, work: str) -> list[Row]:
    what = f"8 async_exec(), 8 instances, {WORKS[work]}"
    subjects = {
        name: functools.partial(_fan_out, servers, name, f"{work}_8", COUNT)
        for name in (TIMESTAMPS, TRITON)
        if name == TIMESTAMPS or servers.triton
    }
    function = _work(work)
    with ThreadPoolExecutor(COUNT) as pool:
        found = medians({POOL: lambda: _pooled(pool, function)} | subjects, ROUNDS)
    ours, pooled = found[TIMESTAMPS] / 1e6, found[POOL] / 1e6
    rows = [Row(what, ours, "ms", pooled, POOL, Goal(1.15))]
    if TRITON in found:
        rows.append(Row(what, ours, "ms", found[TRITON] / 1e6, goal=Goal(1)))
    return rows


def _sequential(servers: Servers) -> Row:
    found = medians(
        {
            count: functools.partial(_fan_out, servers, TIMESTAMPS, "waits_1", count)
            for count in (1, COUNT)
        },
        ROUNDS,
    )
    return Row(
        f"8 async_exec(), 1 instance, {WORKS['waits']}",
        found[COUNT] / 1e6,
        "ms",
        found[1] / 1e6,
        "one call",
        Goal(least=7.5),
    )


def _fan_out(servers: Servers, server: str, model: str, count: int) -> list[float]:
    inputs = {"MODEL": model, "CONCURRENCY": count, "CALLS": 1}
    outputs = getattr(servers, server).infer("measure_fan_out", **inputs)
    return outputs["NANOSECONDS"].tolist()


def _work(model: str) -> Callable[[], object]:
    """Return the function that the model's ``execute`` calls."""
    return runpy.run_path(str(MODELS / model / "1" / "model.py"))["work"]


def _pooled(pool: ThreadPoolExecutor, work: Callable[[], object]) -> list[float]:
    start = time.perf_counter_ns()
    for done in [pool.submit(work) for _ in range(COUNT)]:
        done.result()
    return [time.perf_counter_ns() - start]
