"""Calibrates a plan from a real server: a process for each instance.

Two servers are observed. The models of the first one are copies that pass their traces
on, so that each BLS call is known with its times. The second one has the models as
they are: the statistics of its random load say how long executions take without traces,
and its processes how much they compute. Its other loads show how well the simulation
agrees.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from blsnb.benchmark.level import Load
from blsnb.engine.scheduling.rate_limiter import Given
from blsnb.model.config import ModelConfig
from blsnb.parity.triton.executed import together
from blsnb.pb_utils.message import RequestMessage
from blsnb.planning.calibration import TRITON, CalibratedModel, Calibration, by_size
from blsnb.planning.fitting import Loop, reproduction
from blsnb.planning.machine_meter import busy_remarks
from blsnb.planning.simulation.loads import Mix
from blsnb.planning.simulation.simulation import Frontend
from blsnb.planning.triton.matching import matched, with_means, with_processor_time
from blsnb.planning.triton.phases import (
    Computing,
    Loaded,
    Phase,
    arriving,
    computing,
    executed,
    traces_of,
)
from blsnb.planning.triton.real_server import RealServer
from blsnb.planning.triton.served import Executions
from blsnb.printable import counted

_SIZES = (2, 4, 8, 16, 32, 64)
_PER_SIZE = 12
"""Number of requests of each client that fill batches of a size."""
_CLIENTS = 16
"""Clients of a closed loop that a calibration must reproduce: enough for full batches.
"""
_MODERATE, _LIGHT = 0.6, 0.3
"""Rates of the loads that come at random, as shares of that loop's."""
_MAX_REQUESTS = 100_000
_DISPATCH_PERCENT = 25
"""Percentile of the times in the queue that an idle instance needs to begin."""
_UNKNOWN_PROCESSORS = (
    "How much the models of this server compute is unknown: all of their time counts "
    "as waiting, so that processors limit nothing in the plan."
)
_AGAIN = (
    "Other processes disturbed {} of the {}, which {} measured again; the measurement "
    "that they disturbed least counts."
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
        Limits of the load of one client; those of the models as they are have its
        duration, and the light one half of it.
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
    """The models of the first server.

    Parameters
    ----------
    models
        All of their own work counts as waiting.
    computing
        The processor time of their executions, by model.
    transport_ns
        Time of a request on its way to the server and back.
    phases
        Its loads.
    """

    models: Mapping[str, CalibratedModel]
    computing: Mapping[str, Computing]
    transport_ns: int
    phases: Sequence[Phase] = ()


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


def loaded_server(server: RealServer, observation: Observation) -> Loaded:
    """Return a server under the loads of an observation."""
    configs = observation.configs
    instances = {name: len(each.instance_names()) for name, each in configs.items()}
    return Loaded(server, instances)


def light_phases(loaded: Loaded, observation: Observation) -> Iterator[Phase]:
    """Yield the load of one client, and those that fill batches of each model."""
    yield loaded.closed(observation.messages, 1, observation.load)
    for name, message in observation.inner.items():
        config = observation.configs[name]
        for size in (each for each in _SIZES if each <= config.max_batch_size):
            # One more: the first request may be executed alone.
            load = Load(observation.load.duration_s, size * _PER_SIZE)
            yield loaded.closed([message], size + 1, load)


def observe_traced(server: RealServer, observation: Observation) -> Traced:
    """Observe the executions of all models."""
    server.set_tracing(True)
    loaded = loaded_server(server, observation)
    phases = list(light_phases(loaded, observation))
    alone = phases[0]
    server.set_tracing(False)
    traces = traces_of(server, sum(phase.sent for phase in phases))
    pairs = [(each, executed(traces, each, observation.sizes)) for each in phases]
    names = [name for name in observation.configs if name in pairs[0][1]]
    roots = [
        trace.spans[trace.roots[0]].duration_ns
        for trace in traces
        if alone.from_ns <= trace.start_ns <= alone.until_ns
    ]
    return Traced(
        {
            name: observed_model(
                observation.configs[name], [found.get(name) for _, found in pairs]
            )
            for name in names
        },
        {name: computing(name, pairs) for name in names},
        max(0, round(alone.latency_ns - float(np.median(roots)))),
        phases,
    )


def observed_model(
    config: ModelConfig, phases: Sequence[Executions | None]
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
    waits_ns = np.percentile(alone.waits_ns, _DISPATCH_PERCENT)
    batching = config.message.dynamic_batching
    delay_ns = batching.max_queue_delay_microseconds * 1_000
    dispatch_ns = 0
    if not config.is_ensemble:
        dispatch_ns = max(0, round(float(waits_ns)) - delay_ns)
    overheads_ns = [each + dispatch_ns for each in alone.overheads_ns]
    median_ns = round(float(np.median(overheads_ns)))
    return CalibratedModel(config, by_size(behaviours), median_ns, overheads_ns)


def observe_plain(
    server: RealServer, observation: Observation, traced: Traced
) -> Calibration:
    """Observe loads of clients, and return the calibration."""
    loaded, mix = loaded_server(server, observation), observation.mix
    messages, seconds = observation.messages, observation.load.duration_s
    if mix.lengths:
        # One sequence has one client.
        alone = loaded.closed(messages, 1, Load(seconds / 2, _MAX_REQUESTS))
        return _calibration(observation, traced, [alone], [_loop(1, alone)])
    load = Load(seconds, _MAX_REQUESTS)
    crowded = loaded.closed(messages, _CLIENTS, load)
    closed = _loop(_CLIENTS, crowded)
    phases, loops = [crowded], [closed]
    # The load that counts comes last: soon after its start a server was seen slower.
    for share, duration_s in ((_LIGHT, seconds / 2), (_MODERATE, seconds)):
        arrivals = arriving(closed.rate * share, duration_s)
        phase = loaded.opened(messages, arrivals)
        p50_us = phase.latency_ns / 1e3
        phases.append(phase)
        loops.append(Loop(0, p50_us, arrivals.rate, arrivals.times_ns))
    return _calibration(observation, traced, phases, loops)


def _loop(clients: int, phase: Phase) -> Loop:
    rate = phase.requests / (phase.until_ns - phase.from_ns) * 1e9
    return Loop(clients, phase.latency_ns / 1e3, rate)


def _calibration(
    observation: Observation,
    traced: Traced,
    phases: Sequence[Phase],
    loops: Sequence[Loop],
) -> Calibration:
    """Return the calibration that agrees with some loads.

    The first one is that of a closed loop, and has a calibration of its own, if there
    are others: in a closed loop each response is followed by a request, and what is
    busy needs not wake up for it. On a virtual machine with two processors requests at
    random cost 15 to 40 % more processor time than those of 32 clients.

    Parameters
    ----------
    phases, loops
        What each load cost, and the load itself.
    """
    crowded = None
    if len(phases) > 1:
        crowded = _agreeing(observation, traced, phases[0], loops[:1])
    found = _agreeing(observation, traced, phases[-1], loops[1:] or loops, crowded)
    return replace(
        found,
        remarks=tuple(_remarks(traced, phases)),
        reproductions=tuple(reproduction(found, loop) for loop in loops),
    )


def _agreeing(
    observation: Observation,
    traced: Traced,
    phase: Phase,
    loops: Sequence[Loop],
    crowded: Calibration | None = None,
) -> Calibration:
    """Return the calibration that agrees with loads; the phase is the last of them."""
    server_ns = _server_ns(phase, traced.models)
    found = Calibration(
        observation.model_name,
        TRITON,
        {
            name: _computing(with_means(model, phase.executed.get(name, {})), spent)
            for name, model in traced.models.items()
            for spent in [_spent(name, traced, phase, server_ns)]
        },
        float(len(os.sched_getaffinity(0))),
        frontend=frontend_of(phase, server_ns, traced.transport_ns),
        mix=observation.mix,
        rate_limits=observation.rate_limits,
        crowded=crowded,
    )
    return matched(found, loops, phase.executed)


def _remarks(traced: Traced, phases: Sequence[Phase]) -> Iterator[str]:
    """Yield what makes the observed times uncertain."""
    if all(each.processors is None for each in phases):
        yield _UNKNOWN_PROCESSORS
        return
    every = [*traced.phases, *phases]
    repeated = sum(each.attempts > 1 for each in every)
    if repeated:
        was = "was" if repeated == 1 else "were"
        yield _AGAIN.format(repeated, counted(len(every), "load"), was)
    yield from busy_remarks(max(each.others for each in every))


def _computing(model: CalibratedModel, spent: Computing) -> CalibratedModel:
    """Return a model whose executions compute for a part of their time."""
    if model.config.is_ensemble:
        return model
    found = {
        size: with_processor_time(behaviours, spent.of(size))
        for size, behaviours in model.by_size.items()
    }
    return replace(model, by_size=found)


def _server_ns(phase: Phase, models: Mapping[str, CalibratedModel]) -> float:
    """Return the server's own processor time for each request.

    Those of clients and those of models cost the same.
    """
    if phase.processors is None:
        return 0.0
    counts = (together(phase.executed.get(name, {})).executions for name in models)
    return phase.processors.server_ns / (phase.requests + sum(counts))


def _spent(name: str, traced: Traced, phase: Phase, server_ns: float) -> Computing:
    """Return the processor time of a model's executions, with the server's for them.

    It is that of the plain server; how it depends on the batch size was traced.
    """
    sizes = phase.executed.get(name, {})
    count = together(sizes).executions
    if phase.processors is None or not count:
        return Computing()
    line = traced.computing[name]
    traced_ns = sum(line.of(size) * each.executions for size, each in sizes.items())
    factor = phase.processors.models_ns[name] / traced_ns if traced_ns else 0.0
    return line.scaled(factor).plus(server_ns)


def frontend_of(phase: Phase, server_ns: float, transport_ns: int) -> Frontend:
    """Return what a client's request costs outside of the models.

    Parameters
    ----------
    server_ns
        Processor time of the server for a request.
    transport_ns
        Time of a request on its way to the server and back: what is computed beside
        it does not make it longer, but needs the processors.
    """
    if phase.processors is None:
        return Frontend(0, transport_ns)
    spent_ns = round(server_ns + phase.processors.client_ns / phase.requests)
    way_ns = min(spent_ns, transport_ns)
    return Frontend(way_ns, transport_ns - way_ns, spent_ns - way_ns)
