"""End points under perf_analyzer, beside the real server's: throughput and p99."""

from __future__ import annotations

import contextlib
import itertools
import statistics
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from benchmarks import perf_analyzer
from benchmarks.perf_analyzer import Report
from benchmarks.row import Goal, Row, ratio_text
from benchmarks.server import TritonServer
from benchmarks.servers import Servers

MODEL = "identity"
ROUNDS, WINDOW_MS = 5, 500
CLIENTS = (1, 16)
PROTOCOLS = {"http": "HTTP", "grpc": "gRPC"}
"""Names of perf_analyzer, and those of the table."""
SMALL, LARGE = 64, 4 << 20
SIZES = {SMALL: "64 B", LARGE: "4 MB in shared memory"}
LEAST = {("http", 1): 0.6, ("http", 16): 0.6, ("grpc", 1): 0.5, ("grpc", 16): 0.4}
"""Minimum ratio of the throughputs of small requests, by protocol and clients."""
LEAST_LARGE, MOST_P99 = 0.6, 2.0
Addresses = dict[str, str]


class Case(NamedTuple):
    """A protocol and a size of the tensor."""

    protocol: str
    size: int

    def options(self) -> tuple[object, ...]:
        """Return the options of perf_analyzer, for both numbers of clients."""
        first, last = CLIENTS
        loads = (
            *("--concurrency-range", f"{first}:{last}:{last - first}"),
            *("--measurement-interval", WINDOW_MS, "--shape", f"X:{self.size}"),
        )
        if self.size == SMALL:
            return loads
        memory = ("--shared-memory", "system", "--output-shared-memory-size", self.size)
        return (*loads, *memory)


def run(servers: Servers) -> list[Row]:
    """Measure both servers in turns while both run.

    Without a real server or perf_analyzer nothing is measured.
    """
    triton = servers.triton
    program = None if servers.env is None else perf_analyzer.program(servers.env)
    if triton is None or program is None:
        return []
    triton.load(MODEL)
    with _serving(servers) as ours:
        sides = (ours, _addresses(triton))
        return [row for case in _cases() for row in _rows(program, case, sides)]


def _cases() -> Iterator[Case]:
    for size, protocol in itertools.product(SIZES, PROTOCOLS):
        yield Case(protocol, size)


def _addresses(triton: TritonServer) -> Addresses:
    process = triton.process
    ports = {"http": process.http_port, "grpc": process.grpc_port}
    return {name: f"127.0.0.1:{port}" for name, port in ports.items()}


@contextlib.contextmanager
def _serving(servers: Servers) -> Iterator[Addresses]:
    """Run ``blsnb serve`` with its defaults, and yield its addresses."""
    command = [
        *(sys.executable, "-m", "blsnb", "serve", str(servers.repository.folder)),
        *("--model-control-mode", "explicit", "--load-model", MODEL),
        *("--http", "0", "--grpc", "0", "--metrics", "off", "--log-info", "false"),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield dict(_printed(process.stdout))
        finally:
            process.terminate()


def _printed(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the addresses in what ``blsnb serve`` prints once it is ready."""
    names = {name: protocol for protocol, name in PROTOCOLS.items()}
    for line in lines:
        name, _, address = line.strip().partition(": ")
        if name in names:
            yield names[name], address
        if line.startswith("Ctrl-C"):
            return
    raise RuntimeError("blsnb serve ended before it was ready")


def _rows(program: str, case: Case, sides: Sequence[Addresses]) -> Iterator[Row]:
    """Yield throughput and p99 for each number of clients."""
    # The first one fills caches, pools and the memory that values may use.
    _, *rounds = [_round(program, case, sides) for _ in range(ROUNDS + 1)]
    for place, clients in enumerate(CLIENTS):
        ours, other = ([each[side][place] for each in rounds] for side in (0, 1))
        what = f"{PROTOCOLS[case.protocol]}, {SIZES[case.size]}, {_many(clients)}"
        yield from _compared(what, ours, other, _least(case, clients))


def _round(program: str, case: Case, sides: Sequence[Addresses]) -> list[list[Report]]:
    return [
        perf_analyzer.measure(
            program, MODEL, case.protocol, side[case.protocol], *case.options()
        )
        for side in sides
    ]


def _many(clients: int) -> str:
    return "1 client" if clients == 1 else f"{clients} clients"


def _least(case: Case, clients: int) -> float:
    return LEAST[case.protocol, clients] if case.size == SMALL else LEAST_LARGE


def _compared(
    what: str, ours: list[Report], other: list[Report], least: float
) -> Iterator[Row]:
    """Yield the rows of one load, from its rounds on both servers."""
    rate, p99 = Goal(least=least), Goal(MOST_P99)
    for name, unit, field, goal in (
        ("throughput", "/s", "rate", rate),
        ("p99", "µs", "p99_us", p99),
    ):
        these, those = (
            [getattr(each, field) for each in side] for side in (ours, other)
        )
        ratios = [this / that for this, that in zip(these, those, strict=True)]
        yield Row(
            f"{what}, {name}",
            statistics.median(these),
            unit,
            statistics.median(those),
            goal=goal,
            spread=f"{ratio_text(min(ratios))} to {ratio_text(max(ratios))}",
        )
