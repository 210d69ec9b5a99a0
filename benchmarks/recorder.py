"""Cost of the recorder for a request with one BLS call, on the real server."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
from tritonclient.grpc import InferInput

from benchmarks.row import Goal, Row
from benchmarks.servers import Servers
from tests.recorder.production import (
    BODIES,
    Production,
    install,
    own_environment,
    serving,
    write_models,
)

BYTES, ROUNDS, REQUESTS = 4096, 20, 60
BARE = "without the recorder"
FOLDER, RATE = "BLSNB_RECORD", "BLSNB_RECORDER_RATE"
RATES = {
    "recorder installed, not enabled": None,
    "recorder with 1 % of the requests": "0.01",
    "recorder with everything": "1",
}
GOALS = {
    "recorder with 1 % of the requests": Goal(1.03),
    "recorder with everything": Goal(1.25),
}
CALLER = """\
    def execute(self, requests):
        return [answer(value_of(request("double", value_of(each)).exec()))
                for each in requests]
"""


def run(servers: Servers) -> list[Row]:
    """Measure servers with different settings in turns, and compare in each round."""
    if servers.env is None:
        return []
    with (
        tempfile.TemporaryDirectory() as name,
        ExitStack() as stack,
    ):
        folder = Path(name)
        recorded = own_environment(servers.env, folder / "recorded")
        install(recorded)
        bare = own_environment(servers.env, folder / "bare")
        models = {"double": BODIES["double"], "caller": CALLER}
        repository = write_models(folder / "models", models)
        running = {BARE: stack.enter_context(serving(bare, repository, folder / "log"))}
        for what, rate in RATES.items():
            log = folder / f"log of {what}"
            with _environment(folder / what, rate):
                served = serving(recorded, repository, log)
                running[what] = stack.enter_context(served)
        return _rows(_rounds(running))


@contextmanager
def _environment(folder: Path, rate: str | None) -> Iterator[None]:
    if rate is None:
        yield
        return
    os.environ.update({FOLDER: str(folder), RATE: rate})
    try:
        yield
    finally:
        del os.environ[FOLDER], os.environ[RATE]


def _rounds(running: dict[str, Production]) -> dict[str, list[float]]:
    """Return the median of each round in µs; each round begins with another server."""
    found: dict[str, list[float]] = {name: [] for name in running}
    names = list(running)
    for number in range(ROUNDS + 1):
        names = [*names[1:], names[0]]
        for name in names:
            median = statistics.median(_requests(running[name]))
            if number:
                found[name].append(median)
    return found


def _requests(production: Production) -> Iterator[float]:
    values = InferInput("X", [BYTES // 4], "FP32")
    values.set_data_from_numpy(np.zeros(BYTES // 4, np.float32))
    for _ in range(REQUESTS):
        start = time.perf_counter()
        production.client.infer("caller", [values])
        yield (time.perf_counter() - start) * 1e6


def _rows(found: dict[str, list[float]]) -> list[Row]:
    bare = statistics.median(found[BARE])
    return [
        Row(
            f"request with a BLS call of {BYTES:,} B, {what}",
            bare * _ratio(found[what], found[BARE]),
            "µs",
            bare,
            BARE,
            GOALS.get(what),
        )
        for what in RATES
    ]


def _ratio(these: list[float], others: list[float]) -> float:
    """Return the median of the ratios of the rounds."""
    pairs = zip(these, others, strict=True)
    return statistics.median(this / other for this, other in pairs)
