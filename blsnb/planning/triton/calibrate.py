"""Calibrates a plan from a real server: a process for each instance.

Two servers are observed. The models of the first one are copies that pass their traces
on, so that each BLS call is known with its times. The second one has the models as they
are: its loads show what a client's request costs, and how well the simulation agrees.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from blsnb.benchmark.level import Load
from blsnb.engine.scheduling.rate_limiter import Given
from blsnb.model.config import ModelConfig
from blsnb.pb_utils.message import RequestMessage
from blsnb.planning.calibration import TRITON, CalibratedModel, Calibration, by_size
from blsnb.planning.fitting import Loop, reproduction
from blsnb.planning.simulation.loads import Mix
from blsnb.planning.simulation.simulation import Frontend
from blsnb.planning.triton.phases import (
    Computing,
    Phase,
    computing,
    executed,
    run_phase,
    traces_of,
)
from blsnb.planning.triton.processes import ProcessorTimes
from blsnb.planning.triton.real_server import RealServer
from blsnb.planning.triton.served import Executions

_SIZES = (2, 4, 8, 16, 32, 64)
_PER_SIZE = 12
"""Number of requests of each client that fill batches of a size."""
_CLIENTS = (1, 8)
"""Closed loops that a calibration must reproduce."""
_MAX_REQUESTS = 100_000
_DISPATCH_PERCENT = 25
"""Percentile of the times in the queue that an idle instance needs to begin."""
_UNKNOWN_PROCESSORS = (
    "The server runs on another machine: how much its models compute is unknown, and "
    "all of their time counts as waiting."
)
_MAX_DELAY = 0.2
"""Maximum share of waits for a processor of one client's requests."""
_BUSY = (
    "The machine was busy with other work: for one client, the processes of the server "
    "waited for a processor for {:.0%} of the time that they computed. Observe them "
    "again when it is idle."
)


class Observation(NamedTuple):
    """What is observed.

    Parameters
    ----------
    model_name
        The model that clients call.
    configs
        Configurations of all models that a request reaches.
    messages
        Requests of clients.
    inner
        A request of each batching model.
    sizes
        Batch size of the requests of each model.
    load
        Limits of the load of one client; loads of the models as they are have half of
        its duration.
    mix
        The requests of clients, as a simulation sends them.
    rate_limits
        Counts of the server's resources; None if it does not limit rates.
    """

    model_name: str
    configs: Mapping[str, ModelConfig]
    messages: Sequence[RequestMessage]
    inner: Mapping[str, RequestMessage]
    sizes: Mapping[str, int]
    load: Load
    mix: Mix
    rate_limits: Given | None


class Traced(NamedTuple):
    """The models of the first server, and the time of a request outside of them."""

    models: Mapping[str, CalibratedModel]
    transport_ns: int
    remarks: tuple[str, ...]


Serving = Callable[[], AbstractContextManager[RealServer]]
"""Starts a server, and stops it at the end."""


def calibrated(
    observation: Observation, traced: Serving, plain: Serving
) -> Calibration:
    """Observe both servers, one after the other.

    Raises
    ------
    TritonServerError
        A server does not start, or a request failed.
    """
    with traced() as server:
        found = observe_traced(server, observation)
    with plain() as server:
        return observe_plain(server, observation, found)


def observe_traced(server: RealServer, observation: Observation) -> Traced:
    """Observe the executions of all models."""
    server.set_tracing(True)
    names = list(observation.configs)
    alone = run_phase(server, names, observation.messages, 1, observation.load)
    phases = [alone]
    for name, message in observation.inner.items():
        config = observation.configs[name]
        for size in (each for each in _SIZES if each <= config.max_batch_size):
            # One more: the first request may be executed alone.
            load = Load(observation.load.duration_s, size * _PER_SIZE)
            phases.append(run_phase(server, names, [message], size + 1, load))
    server.set_tracing(False)
    traces = traces_of(server, sum(phase.sent for phase in phases))
    pairs = [(each, executed(traces, each, observation.sizes)) for each in phases]
    models = {
        name: _model(
            config, [found.get(name) for _, found in pairs], computing(name, pairs)
        )
        for name, config in observation.configs.items()
        if name in pairs[0][1]
    }
    roots = [
        trace.spans[trace.roots[0]].duration_ns
        for trace in traces
        if alone.from_ns <= trace.start_ns <= alone.until_ns
    ]
    transport_ns = max(0, round(alone.latency_ns - float(np.median(roots))))
    return Traced(models, transport_ns, tuple(_remarks(alone.processors)))


def _remarks(spent: ProcessorTimes | None) -> Iterator[str]:
    """Yield what makes the observed times uncertain."""
    if spent is None:
        yield _UNKNOWN_PROCESSORS
    elif spent.delay > _MAX_DELAY:
        yield _BUSY.format(spent.delay)


def _model(
    config: ModelConfig, phases: Sequence[Executions | None], spent: Computing
) -> CalibratedModel:
    """Return a model from its executions in all phases; the first has one client."""
    alone, *crowded = phases
    assert alone is not None
    behaviours = [
        *alone.behaviours,
        *(
            each
            for found in crowded
            if found is not None
            for each in found.behaviours
            if each.size > 1
        ),
    ]
    is_ensemble = config.message.HasField("ensemble_scheduling")
    if not is_ensemble:
        behaviours = [each.with_computing(spent.of(each.size)) for each in behaviours]
    waits_ns = np.percentile(alone.waits_ns, _DISPATCH_PERCENT)
    batching = config.message.dynamic_batching
    delay_ns = batching.max_queue_delay_microseconds * 1_000
    dispatch_ns = 0 if is_ensemble else max(0, round(float(waits_ns)) - delay_ns)
    overhead_ns = round(float(np.median(alone.overheads_ns))) + dispatch_ns
    return CalibratedModel(config, by_size(behaviours), overhead_ns)


def observe_plain(
    server: RealServer, observation: Observation, traced: Traced
) -> Calibration:
    """Observe loads of clients, and return the calibration."""
    names = list(observation.configs)
    load = Load(observation.load.duration_s / 2, _MAX_REQUESTS)
    loops, phases = [], []
    own_ns = []
    # One sequence has one client.
    for clients in _CLIENTS[:1] if observation.mix.lengths else _CLIENTS:
        before_ns = time.process_time_ns()
        phase = run_phase(server, names, observation.messages, clients, load)
        own_ns.append((time.process_time_ns() - before_ns) / phase.requests)
        phases.append(phase)
        loops.append(_loop(clients, phase))
    frontend = _frontend(phases[0], own_ns[0], traced.transport_ns)
    found = Calibration(
        observation.model_name,
        TRITON,
        traced.models,
        float(len(os.sched_getaffinity(0))),
        frontend=frontend,
        mix=observation.mix,
        rate_limits=observation.rate_limits,
        remarks=traced.remarks,
    )
    return replace(
        found, reproductions=tuple(reproduction(found, loop) for loop in loops)
    )


def _loop(clients: int, phase: Phase) -> Loop:
    rate = phase.requests / (phase.until_ns - phase.from_ns) * 1e9
    return Loop(clients, phase.latency_ns / 1e3, rate)


def _frontend(phase: Phase, own_ns: float, transport_ns: int) -> Frontend:
    """Return what a client's request costs outside of the models.

    Parameters
    ----------
    own_ns
        Processor time of the client for each request.
    transport_ns
        Time of a request on its way to the server and back.
    """
    if phase.processors is None:
        return Frontend(0, transport_ns)
    spent_ns = round(own_ns + phase.processors.server_ns / phase.requests)
    return Frontend(spent_ns, max(0, transport_ns - spent_ns))
