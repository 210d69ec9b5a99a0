"""Open-loop load beside perf_analyzer, on the same real server."""

from __future__ import annotations

import statistics

import numpy as np

from benchmarks import perf_analyzer
from benchmarks.row import Goal, Row
from benchmarks.servers import Servers
from blsnb.benchmark.arrivals import CONSTANT, arrivals_at
from blsnb.benchmark.level import Load
from blsnb.benchmark.measure import open_row
from blsnb.parity.triton.client import TritonClient
from blsnb.pb_utils.message import RequestMessage
from blsnb.tensors.dtypes import of_array
from blsnb.tensors.ref import freeze

RATES, ROUNDS, WINDOW_S = (20, 100), 3, 2.0
MODELS = {"waits_10_ms": "10 ms", "waits_8": "20 ms"}
"""How long models with eight instances take."""


def run(servers: Servers) -> list[Row]:
    """Measure median latencies and rates in alternating rounds.

    Without a real server or perf_analyzer nothing is measured.
    """
    server = servers.triton
    program = None if servers.env is None else perf_analyzer.program(servers.env)
    if server is None or program is None:
        return []
    process = server.process
    client = TritonClient(process.stub, "the real server")
    rows = []
    for model in MODELS:
        server.load(model)
        for rate in RATES:
            rows += _rows(client, program, process.grpc_port, model, rate)
    return rows


def _rows(
    client: TritonClient, program: str, port: int, model: str, rate: int
) -> list[Row]:
    own, other = [], []
    for _ in range(ROUNDS):
        own.append(_own(client, model, rate))
        other.append(_perf_analyzer(program, port, model, rate))
    (p50_us, reached), (other_us, other_reached) = map(_medians, (own, other))
    what = f"a model of {MODELS[model]} at {rate}/s"
    name, error = "perf_analyzer", abs(reached / rate - 1) * 100
    return [
        Row(f"{what}, p50", p50_us, "µs", other_us, name, Goal(1.05)),
        Row(
            f"{what}, error of the rate",
            error,
            "%",
            abs(other_reached / rate - 1) * 100,
            name,
            Goal(1, unit="%"),
        ),
    ]


def _medians(rounds: list[tuple[float, float]]) -> tuple[float, float]:
    p50s_us, rates = zip(*rounds, strict=True)
    return statistics.median(p50s_us), statistics.median(rates)


def _own(client: TritonClient, model: str, rate: int) -> tuple[float, float]:
    """Return the median latency in µs, and the rate at which requests were sent."""
    array = np.zeros((1, 4), np.uint8)
    dtype = of_array(array.dtype)
    assert dtype is not None
    message = RequestMessage(model, (freeze("X", array, dtype),))
    times = arrivals_at(CONSTANT, rate, Load(WINDOW_S, 10_000).count(rate), seed=0)
    row = open_row(client.sender([message]), times)
    return row.p50_us, row.sent_rate


def _perf_analyzer(
    program: str, port: int, model: str, rate: int
) -> tuple[float, float]:
    """Return what perf_analyzer reports for the same."""
    [found] = perf_analyzer.measure(
        *(program, model, "grpc", f"127.0.0.1:{port}"),
        *("--shape", "X:1,4", "--request-rate-range", rate),
        *("--measurement-interval", round(WINDOW_S * 1e3)),
    )
    return found.p50_us, found.rate
