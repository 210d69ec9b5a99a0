"""How long ``exec()`` of an identity model takes, on blsnb and on a real server.

One model source measures itself on all of them. The servers take turns, so that
whatever else the machine does hits each alike.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import blsnb
from tests.conformance.targets import Request, Value
from tests.conformance.triton_env import installed
from tests.conformance.triton_target import TritonTarget

MODELS = Path(__file__).with_name("models")
MEASURING = "measure_exec"
SIZES = (64, 4096)
ROUNDS = 10
CALLS = 300
TRITON = "triton"
GOALS = {"blsnb, timestamps": 20, "blsnb, tensors": 10}
"""How many times faster than the real server blsnb wants to be."""

Measure = Callable[[int, int], np.ndarray]


class Subject(NamedTuple):
    """What is measured: its name, and how to get the times of some calls."""

    name: str
    times_ns: Measure


def run() -> dict[str, Any]:
    """Measure all subjects in turns and print the table."""
    with contextlib.ExitStack() as opened:
        subjects = [
            blsnb_subject(opened, "timestamps"),
            blsnb_subject(opened, "tensors"),
        ]
        server = real_server(opened)
        if server is not None:
            subjects.append(Subject(TRITON, server_times(server)))
        p50_us = measured(subjects)
        result = {"p50_us": p50_us, "rounds": ROUNDS, "calls_per_round": CALLS}
        if server is not None:
            result["server"] = server.server.version()
    print("\n".join(table(p50_us)))
    return result


def measured(subjects: list[Subject]) -> dict[str, dict[int, float]]:
    """Return the median time of ``exec()`` in microseconds, by subject and size."""
    times: dict[tuple[str, int], list[np.ndarray]] = {}
    for turn in range(ROUNDS + 1):
        for size in SIZES:
            for name, times_ns in subjects:
                taken = times_ns(size, CALLS)
                # The first turn is for caches and pools to fill.
                if turn:
                    times.setdefault((name, size), []).append(taken)
    return {
        name: {size: p50_us(times[name, size]) for size in SIZES}
        for name, _ in subjects
    }


def p50_us(rounds: list[np.ndarray]) -> float:
    """Return the median of all calls of all rounds."""
    return round(float(np.median(np.concatenate(rounds))) / 1000, 2)


def blsnb_subject(opened: contextlib.ExitStack, trace_level: str) -> Subject:
    """Return a server of ours at a trace level."""
    server = opened.enter_context(
        blsnb.Server(
            model_repository=MODELS, startup_models="*", trace_level=trace_level
        )
    )

    def times_ns(size: int, calls: int) -> np.ndarray:
        run = server.infer(MEASURING, {"BYTES_EACH": [size], "CALLS": [calls]})
        return run["NANOSECONDS"]

    return Subject(f"blsnb, {trace_level}", times_ns)


def real_server(opened: contextlib.ExitStack) -> TritonTarget | None:
    """Return the real server with the same models; None where it cannot run."""
    env = installed()
    if env is None:
        print("No real Triton server here: blsnb is measured alone.")
        return None
    target = opened.enter_context(contextlib.closing(TritonTarget(env)))
    for folder in sorted(MODELS.iterdir()):
        failure = target.load(folder.name, folder)
        if failure is not None:
            raise RuntimeError(f"the real server cannot load {folder.name}: {failure}")
    return target


def server_times(target: TritonTarget) -> Measure:
    """Return how the real server measures."""

    def times_ns(size: int, calls: int) -> np.ndarray:
        inputs = [("BYTES_EACH", number(size)), ("CALLS", number(calls))]
        answer = target.infer(Request(MEASURING, inputs))
        if answer.error is not None:
            raise RuntimeError(f"the real server failed: {answer.error}")
        return np.frombuffer(answer.outputs["NANOSECONDS"].data, np.int64)

    return times_ns


def number(value: int) -> Value:
    """Return a number as a tensor on the wire."""
    return Value("INT64", (1,), np.int64(value).tobytes())


def table(p50_us: dict[str, dict[int, float]]) -> Iterator[str]:
    """Yield the lines of the result, with what it means beside the real server."""
    yield f"p50 of exec() of an identity model, {ROUNDS} rounds of {CALLS} calls, in µs"
    yield f"{'':20}" + "".join(f"{f'{size:,} B':>12}" for size in SIZES)
    for name, by_size in p50_us.items():
        yield f"{name:20}" + "".join(f"{by_size[size]:12.2f}" for size in SIZES)
    if TRITON not in p50_us:
        return
    yield "times faster than the real server"
    for name, goal in GOALS.items():
        ratios = [p50_us[TRITON][size] / p50_us[name][size] for size in SIZES]
        shown = "".join(f"{ratio:12.1f}" for ratio in ratios)
        verdict = "reached" if min(ratios) >= goal else "missed"
        yield f"{name:20}{shown}   goal {goal}: {verdict}"
