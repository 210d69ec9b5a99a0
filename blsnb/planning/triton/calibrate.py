"""Calibrates a plan from a real server: a process for each instance.

Two servers are observed. The models of the first one are copies that pass their traces
on, so that each BLS call is known with its times. The second one has the models as
they are: the statistics of its random load say how long executions take without traces,
and its processes how much they compute. Its other loads show how well the simulation
agrees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from blsnb.benchmark.level import Load
from blsnb.model.config import ModelConfig
from blsnb.model.rules.instances import slots_of
from blsnb.pb_utils.message import RequestMessage
from blsnb.planning.calibrate import SIZES
from blsnb.planning.calibration import CalibratedModel, Calibration, by_size
from blsnb.planning.fitting import Loop
from blsnb.planning.triton.agreement import calibration_of
from blsnb.planning.triton.observation import Observation, TracedModels
from blsnb.planning.triton.phases import (
    Loaded,
    Phase,
    RealServer,
    arriving,
    computing,
    executed,
    traces_of,
)
from blsnb.planning.triton.served import Executions
from blsnb.request_fields import SEQUENCE_END, SEQUENCE_START

_PER_SIZE = 12
"""Number of requests of each client that fill batches of a size."""
_CLIENTS = 16
"""Clients of a closed loop that a calibration must reproduce: enough for full batches.
"""
_SEQUENCES = 1_000
"""Sequences of one request each that the clients begin before the first id is used
again.
"""
_MODERATE, _LIGHT = 0.6, 0.3
"""Rates of the loads that come at random, as shares of that loop's."""
_MAX_REQUESTS = 100_000
_DISPATCH_PERCENT = 25
"""Percentile of the times in the queue that an idle instance needs to begin."""


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
        for size in (each for each in SIZES if each <= config.max_batch_size):
            # One more: the first request may be executed alone.
            load = Load(observation.load.duration_s, size * _PER_SIZE)
            yield loaded.closed([message], size + 1, load)


def observe_traced(server: RealServer, observation: Observation) -> TracedModels:
    """Observe the executions of all models."""
    server.client.set_tracing(True)
    loaded = loaded_server(server, observation)
    phases = list(light_phases(loaded, observation))
    alone = phases[0]
    server.client.set_tracing(False)
    traces = traces_of(server, sum(phase.sent for phase in phases))
    pairs = [(each, executed(traces, each, observation.sizes)) for each in phases]
    names = [name for name in observation.configs if name in pairs[0][1]]
    roots = [
        trace.spans[trace.roots[0]].duration_ns
        for trace in traces
        if alone.from_ns <= trace.start_ns <= alone.until_ns
    ]
    return TracedModels(
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
    server: RealServer, observation: Observation, traced: TracedModels
) -> Calibration:
    """Observe loads of clients, and return the calibration."""
    loaded, seconds = loaded_server(server, observation), observation.load.duration_s
    clients, messages = crowd_of(observation)
    load = Load(seconds, _MAX_REQUESTS)
    crowded = loaded.closed(messages, clients, load)
    rate = crowded.requests / (crowded.until_ns - crowded.from_ns) * 1e9
    closed = Loop(clients, crowded.latency_ns / 1e3, rate)
    phases, loops = [crowded], [closed]
    # The load that counts comes last: soon after its start a server was seen slower.
    for share, duration_s in ((_LIGHT, seconds / 2), (_MODERATE, seconds)):
        arrivals = arriving(closed.rate * share, duration_s)
        phase = loaded.opened(messages, arrivals)
        p50_us = phase.latency_ns / 1e3
        phases.append(phase)
        loops.append(Loop(0, p50_us, arrivals.rate, arrivals.times_ns))
    return calibration_of(observation, traced, phases, loops)


def crowd_of(observation: Observation) -> tuple[int, Sequence[RequestMessage]]:
    """Return the number of clients that keep all instances busy, and their requests.

    Each request of a model with sequences is a sequence of its own, and there are as
    many clients as the model has slots: more of them would wait in the backlog.
    """
    if not observation.mix.lengths:
        return _CLIENTS, observation.messages
    root = observation.configs[observation.model_name]
    clients = min(_CLIENTS, slots_of(root.message) * len(root.instance_names()))
    message = observation.messages[0]
    return clients, [_sequence(message, number) for number in range(_SEQUENCES)]


def _sequence(message: RequestMessage, number: int) -> RequestMessage:
    """Return the request of a sequence of its own, which no open one has as well."""
    given = message.fields.correlation_id
    identity = f"{given}-{number}" if isinstance(given, str) else given + number
    return message.with_fields(
        correlation_id=identity, flags=SEQUENCE_START | SEQUENCE_END
    )
