"""Phases of a calibration: loads on a traced server, with the time they took."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from blsnb.benchmark.level import Load
from blsnb.benchmark.measure import closed_row
from blsnb.errors import TritonServerError
from blsnb.pb_utils.message import RequestMessage
from blsnb.planning.triton.processes import ProcessorTimes, processor_times
from blsnb.planning.triton.real_server import RealServer
from blsnb.planning.triton.served import Executions, executions, served
from blsnb.trace.spans import Trace

_TRACED_S = 10.0
"""Maximum seconds until the server has written its traces."""
_POLL_S = 0.1
_WARM_UP = 3


class Phase(NamedTuple):
    """A load of clients in a closed loop.

    Parameters
    ----------
    requests, sent
        Number of answered requests, and of those with the warm-up.
    latency_ns
        Median latency of the clients.
    processors
        Processor time; None if it is not known.
    from_ns, until_ns
        Its time on the monotonic clock.
    """

    requests: int
    sent: int
    latency_ns: float
    processors: ProcessorTimes | None
    from_ns: int
    until_ns: int


def run_phase(
    server: RealServer,
    models: Collection[str],
    messages: Sequence[RequestMessage],
    clients: int,
    load: Load,
) -> Phase:
    """Run a load after a short warm-up.

    Raises
    ------
    TritonServerError
        A request failed.
    """
    sender = server.sender(messages)
    warm = closed_row(sender, clients, Load(load.duration_s, clients * _WARM_UP))
    before = _read(server, models)
    from_ns = time.monotonic_ns()
    row = closed_row(sender, clients, load)
    until_ns = time.monotonic_ns()
    after = _read(server, models)
    if row.failed or not row.requests:
        reason = next(iter(row.errors), "no request was answered in time")
        raise TritonServerError(f"the real server refused a request: {reason}")
    spent = None if after is None or before is None else after.since(before)
    sent = warm.requests + row.requests
    return Phase(row.requests, sent, row.p50_us * 1e3, spent, from_ns, until_ns)


def _read(server: RealServer, models: Collection[str]) -> ProcessorTimes | None:
    return None if server.pid is None else processor_times(server.pid, models)


def traces_of(server: RealServer, requests: int) -> Sequence[Trace]:
    """Return the traces of the server, as soon as it has written that many."""
    deadline = time.monotonic() + _TRACED_S
    while True:
        traces = server.traces()
        if len(traces) >= requests or time.monotonic() > deadline:
            return traces
        time.sleep(_POLL_S)


def executed(
    traces: Iterable[Trace], phase: Phase, sizes: Mapping[str, int]
) -> dict[str, Executions]:
    """Return the executions of a phase, by model."""
    inside = [
        trace for trace in traces if phase.from_ns <= trace.start_ns <= phase.until_ns
    ]
    return executions(served(inside), sizes)


class Computing(NamedTuple):
    """Processor time of the executions of a model.

    Parameters
    ----------
    execution_ns, inference_ns
        For each execution, and for each inference of its batch.
    """

    execution_ns: float = 0.0
    inference_ns: float = 0.0

    def of(self, size: int) -> int:
        """Return the processor time of a batch."""
        return round(self.execution_ns + self.inference_ns * size)


def computing(
    name: str, phases: Iterable[tuple[Phase, Mapping[str, Executions]]]
) -> Computing:
    """Return the processor time of a model, on a line through its phases."""
    rows = []
    for phase, found in phases:
        if phase.processors is not None and name in found:
            behaviours = found[name].behaviours
            sizes = sum(each.size for each in behaviours)
            spent_ns = phase.processors.models_ns.get(name, 0)
            rows.append((len(behaviours), sizes, spent_ns))
    if not rows:
        return Computing()
    counts, sizes, spent = np.array(rows, float).T
    alone = Computing(spent.sum() / counts.sum())
    if np.ptp(sizes / counts) < 1:
        return alone
    line, *_ = np.linalg.lstsq(np.stack([counts, sizes], 1), spent, rcond=None)
    if line.min() >= 0:
        return Computing(*map(float, line))
    return alone if line[1] < 0 else Computing(0.0, float(spent.sum() / sizes.sum()))
