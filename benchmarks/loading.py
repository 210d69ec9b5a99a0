"""Time until a model is ready."""

from __future__ import annotations

import contextlib
import functools
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import blsnb
from benchmarks.child import run_json
from benchmarks.repository import MODELS, copy
from benchmarks.rounds import medians
from benchmarks.row import TRITON, Goal, Row
from benchmarks.servers import Servers
from blsnb.parity.triton.environment import TritonEnv
from tests.conformance.triton_target import TritonTarget

ROUNDS, CELLS = 3, 20
MODELS_LOADED, MODELS_REAL, MODELS_SERVED = 200, 5, 500
FIRST, SERVED, DRAWN = (Goal(most, unit="ms") for most in (40, 2000, 500))
IDENTITY = MODELS / "identity"


def run(servers: Servers) -> list[Row]:
    """Measure cells, and repositories of many models."""
    return [*_cells(servers), _repository(servers), *_served()]


def _cells(servers: Servers) -> list[Row]:
    """Measure cells in a process of its own, and explicit reloads of Triton."""
    first: list[float] = []

    def kernel() -> list[float]:
        found = run_json("-m", "benchmarks.kernel", CELLS)
        first.append(found["first"])
        return found["cells"]

    with contextlib.ExitStack() as opened:
        subjects = {"cell": kernel}
        if servers.env is not None:
            target = opened.enter_context(_real(servers.env))
            subjects[TRITON] = functools.partial(_reload, target)
        found = medians(subjects, ROUNDS)
    return [
        Row(
            "cell to READY",
            found["cell"],
            "ms",
            found.get(TRITON),
            "Triton's explicit reload",
            Goal(1 / 100),
        ),
        Row("cell to READY, total", found["cell"], "ms", goal=Goal(10, unit="ms")),
        Row(
            "the first model of a kernel", sorted(first)[ROUNDS // 2], "ms", goal=FIRST
        ),
    ]


@contextlib.contextmanager
def _real(env: TritonEnv) -> Iterator[TritonTarget]:
    """Start a real server that completes configurations."""
    with contextlib.closing(TritonTarget(env)) as target:
        target.load("identity", IDENTITY)
        yield target


def _reload(target: TritonTarget) -> list[float]:
    file = target.repository / "identity" / "1" / "model.py"
    file.write_text(f"{file.read_text()}# again\n")
    return [_load(target, "identity")]


def _load(target: TritonTarget, model: str) -> float:
    # The target would not load a model that it knows.
    target._loaded.pop(model, None)
    start = time.perf_counter()
    failure = target.load(model)
    took = time.perf_counter() - start
    if failure is not None:
        raise RuntimeError(f"the real server cannot load {model}: {failure}")
    return 1000 * took


def _repository(servers: Servers) -> Row:
    """Measure a server that loads models at its start, and single loads of Triton."""
    with TemporaryDirectory(prefix="blsnb-benchmarks-") as name:
        folder = Path(name)
        for number in range(MODELS_LOADED):
            copy(IDENTITY, folder / f"model_{number}")
        found = medians({"all": lambda: [_start(folder)]}, ROUNDS)
        theirs = None
        if servers.env is not None:
            with _real(servers.env) as target:
                theirs = sum(
                    _placed(target, folder / f"model_{number}")
                    for number in range(MODELS_REAL)
                )
    return Row(
        f"load of a repository with {MODELS_LOADED} models, per model",
        found["all"] / MODELS_LOADED,
        "ms",
        theirs / MODELS_REAL if theirs else None,
        f"Triton, {MODELS_REAL} models",
        Goal(1 / 100),
    )


def _served() -> Iterator[Row]:
    """Measure a server from its start until all models serve, then its graph."""
    started, drawn = [], []
    with TemporaryDirectory(prefix="blsnb-benchmarks-") as name:
        folder = Path(name)
        for number in range(MODELS_SERVED):
            copy(IDENTITY, folder / f"model_{number}")
        for _ in range(ROUNDS + 1):
            start = time.perf_counter()
            with blsnb.Server(model_repository=folder, startup_models="*") as server:
                ready = time.perf_counter()
                server.graph()
                drawn.append(1000 * (time.perf_counter() - ready))
            started.append(1000 * (ready - start))
    what = f"a repository of {MODELS_SERVED} models"
    # The first server of a process fills caches.
    yield Row(f"{what}, served", statistics.median(started[1:]), "ms", goal=SERVED)
    yield Row(f"{what}, static graph", statistics.median(drawn[1:]), "ms", goal=DRAWN)


def _placed(target: TritonTarget, model: Path) -> float:
    target.place(model.name, model)
    return _load(target, model.name)


def _start(folder: Path) -> float:
    start = time.perf_counter()
    with blsnb.Server(model_repository=folder, startup_models="*") as server:
        took = time.perf_counter() - start
        states = {row["state"] for row in server.index()}
    assert states == {"READY"}
    return 1000 * took
