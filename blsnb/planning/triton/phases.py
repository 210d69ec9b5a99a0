"""Phases of a calibration: loads on a server, with what they took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from blsnb.benchmark.arrivals import POISSON, Arrivals, arrivals_at
from blsnb.benchmark.level import Load
from blsnb.benchmark.measure import closed_row, open_row
from blsnb.benchmark.samples import LoadRow
from blsnb.errors import TritonServerError
from blsnb.parity.targets import Target
from blsnb.parity.triton.client import TritonClient
from blsnb.parity.triton.executed import BySize, since
from blsnb.pb_utils.message import RequestMessage
from blsnb.planning.machine_meter import least_disturbed
from blsnb.planning.slowness_meter import UNKNOWN, Costs, metered
from blsnb.planning.triton.processes import ProcessorTimes, processor_times
from blsnb.planning.triton.served import Executions, executions
from blsnb.trace.spans import Trace

_MAX_REQUESTS = 100_000
_TRACED_S = 10.0
"""Maximum seconds until the server has written its traces."""
_POLL_S = 0.1
_WARM_UP = 3
"""Requests of each client, and executions of each instance, before a phase."""
_SEED = 0


class Phase(NamedTuple):
    """A load, with its costs.

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
    executed
        The executions of each model by batch size, as the server counted them.
    attempts
        How often it was measured, since other processes disturbed it.
    costs
        How slow the processors of the server were; unknown for those of others.
    """

    requests: int
    sent: int
    latency_ns: float
    processors: ProcessorTimes | None
    from_ns: int
    until_ns: int
    executed: Mapping[str, BySize]
    attempts: int = 1
    costs: Costs = UNKNOWN

    def on_processors(self, unit_ns: float) -> Phase:
        """Return it with the processor time on others, see `Costs.factor`."""
        if self.processors is None:
            return self
        factor = 1 / self.costs.factor(unit_ns)
        return self._replace(processors=self.processors.times(factor))

    @property
    def others(self) -> float:
        """Share of the processors that other processes used; 0 if it is not known."""
        return 0.0 if self.processors is None else self.processors.others


class RealServer(NamedTuple):
    """A real server that bears a load, and how it was started or found."""

    client: TritonClient
    target: Target


class Loaded:
    """A server under the loads of a calibration.

    A load that other processes disturb is repeated, see `least_disturbed`.

    Parameters
    ----------
    instances
        Number of instances of each model.
    """

    def __init__(self, server: RealServer, instances: Mapping[str, int]) -> None:
        self._server = server
        self._instances = instances

    def closed(
        self, messages: Sequence[RequestMessage], clients: int, load: Load
    ) -> Phase:
        """Run clients in a closed loop, after a warm-up.

        The warm-up reaches each instance several times: first executions are slower.

        Raises
        ------
        TritonServerError
            A request failed; also raised by `opened`.
        """
        sender = self._server.client.sender(messages)
        count = max(clients, *self._instances.values()) * _WARM_UP
        warm = closed_row(sender, clients, Load(load.duration_s, count))
        phase = self._phase(lambda: closed_row(sender, clients, load))
        return phase._replace(sent=warm.requests + phase.sent)

    def opened(self, messages: Sequence[RequestMessage], arrivals: Arrivals) -> Phase:
        """Send requests at their times."""
        sender = self._server.client.sender(messages)
        phase = self._phase(lambda: open_row(sender, arrivals))
        count = len(arrivals.times_ns)
        return phase._replace(requests=count, sent=count * phase.attempts)

    def _phase(self, run: Callable[[], LoadRow]) -> Phase:
        sent: list[int] = []

        def once() -> Phase:
            phase = self._measured(run)
            sent.append(phase.requests)
            return phase

        phase, attempts = least_disturbed(once, lambda each: each.others)
        return phase._replace(sent=sum(sent), attempts=attempts)

    def _measured(self, run: Callable[[], LoadRow]) -> Phase:
        counted, before = self._server.client.executions(), self._spent()
        from_ns = time.monotonic_ns()
        row, costs = (run(), UNKNOWN) if before is None else metered(run)
        until_ns = time.monotonic_ns()
        after = self._spent()
        executed = since(self._server.client.executions(), counted)
        if row.failed or not row.requests:
            reason = next(iter(row.errors), "no request was answered in time")
            raise TritonServerError(f"the real server refused a request: {reason}")
        spent = None if after is None or before is None else after.since(before)
        times = row.p50_us * 1e3, spent, from_ns, until_ns
        return Phase(row.requests, row.requests, *times, executed, costs=costs)

    def _spent(self) -> ProcessorTimes | None:
        pid = self._server.target.pid
        return None if pid is None else processor_times(pid, self._instances)


def arriving(rate: float, duration_s: float) -> Arrivals:
    """Return the random arrivals of a phase."""
    count = Load(duration_s, _MAX_REQUESTS).count(rate)
    return arrivals_at(POISSON, rate, count, _SEED)


def traces_of(server: RealServer, requests: int) -> Sequence[Trace]:
    """Return the traces of the server, as soon as it has written that many."""
    deadline = time.monotonic() + _TRACED_S
    while True:
        traces = server.target.traces()
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
    return executions(inside, sizes)


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

    def scaled(self, factor: float) -> Computing:
        """Return a multiple of it."""
        return Computing(self.execution_ns * factor, self.inference_ns * factor)

    def plus(self, execution_ns: float) -> Computing:
        """Return it with more for each execution."""
        return self._replace(execution_ns=self.execution_ns + execution_ns)


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
