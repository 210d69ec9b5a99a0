"""Traces, pages and views of long runs: the time until a user sees them."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.recorded import run_of, server
from benchmarks.row import Goal, Row
from benchmarks.servers import Servers
from benchmarks.view import page_of
from blsnb.views.documents.document import mimebundle, page
from tests.browser import chromium
from tests.views.samples import batch_run

ROUNDS = 5
CALLS, LONG, HUGE = 10_000, 100_000, 1_000_000
LEVELS = "timestamps", "tensors"
SINCE_NAVIGATION = """
globalThis.drawn.then((since) => since
  + performance.getEntriesByType("navigation")[0].domInteractive)
"""
FIRST_MS, MADE_MS, OPENED_MS, DISPLAYED_MS = (
    Goal(most, unit="ms") for most in (20, 1000, 300, 3000)
)


def run(servers: Servers) -> list[Row]:
    """Measure traces when they are first read, and the page of a long run."""
    traces = [row for level in LEVELS for row in _traces(level)]
    return [*traces, _displayed(), *_pages()]


def _traces(level: str) -> Iterator[Row]:
    first, again = [], []
    with server(level) as ours:
        for _ in range(ROUNDS + 1):
            made = run_of(ours, CALLS)
            take = attrgetter("trace")
            first.append(_timed(partial(take, made)))
            again.append(_timed(partial(take, made)))
    what = f"run.trace of {CALLS:,} calls at {level}"
    # The first run of a server fills caches.
    yield Row(f"{what}, first", statistics.median(first[1:]), "ms", goal=FIRST_MS)
    yield Row(f"{what}, again", statistics.median(again[1:]), "ms")


def _displayed() -> Row:
    """Measure the display of a run of which most calls are only counted."""
    with server("timestamps") as ours:
        made = run_of(ours, HUGE)
        took = _timed(lambda: mimebundle(made.trace))
    what = f"a run of {HUGE:,} calls, displayed with what is kept"
    return Row(what, took, "ms", goal=DISPLAYED_MS)


def _pages() -> Iterator[Row]:
    """Measure a saved page: made, and opened in a browser from navigation on."""
    whole = batch_run(LONG)
    made: list[str] = []
    # A copy has none of the values that are computed once.
    times = [
        _timed(lambda: made.append(page(dataclasses.replace(whole))))
        for _ in range(ROUNDS + 1)
    ]
    what = f"page of {LONG:,} calls"
    yield Row(f"{what}, made", statistics.median(times[1:]), "ms", goal=MADE_MS)
    executable = chromium.executable()
    if executable is not None:
        opened = _opened(executable, made[-1])
        yield Row(f"{what}, opened", opened, "ms", goal=OPENED_MS)


def _opened(executable: str, text: str) -> float:
    with page_of(executable) as shown, TemporaryDirectory() as folder:
        file = Path(folder, "run.html")
        file.write_text(text, encoding="utf-8")
        times = []
        for _ in range(ROUNDS + 1):
            shown.goto(file.as_uri())
            times.append(float(shown.evaluate(SINCE_NAVIGATION)))
    return statistics.median(times[1:])


def _timed(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return 1000 * (time.perf_counter() - start)
