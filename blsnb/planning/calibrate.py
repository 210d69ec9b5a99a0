"""Calibrates a plan from the models of a server, in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from blsnb.benchmark.client import Client
from blsnb.benchmark.level import Load
from blsnb.benchmark.measure import closed_row
from blsnb.engine.instance.instance import ModelInstance
from blsnb.engine.request.validation import RequestError
from blsnb.engine.version import ServedVersion
from blsnb.errors import BlsnbError
from blsnb.model.config import ModelConfig
from blsnb.parts.model_reports import inference_error
from blsnb.parts.requests import ClientRequest
from blsnb.parts.server_parts import ServerParts
from blsnb.planning.calibration import HERE, CalibratedModel, Calibration, by_size
from blsnb.planning.fitting import Loop, fitted
from blsnb.planning.machine_meter import MachineMeter, busy_remarks
from blsnb.planning.observations import (
    Configs,
    Observed,
    observe,
    reached,
    size_of,
)
from blsnb.planning.processor_meter import ProcessorMeter
from blsnb.planning.sequence_client import SequenceClient
from blsnb.planning.simulation.loads import Mix
from blsnb.planning.slowness_meter import SlownessMeter
from blsnb.printable import counted
from blsnb.results.replay import request_of
from blsnb.trace.capture import trace_so_far
from blsnb.trace.events import TraceLevel
from blsnb.trace.run_record import RunRecord
from blsnb.trace.spans import Trace

_CLIENTS = (1, 4)
"""Closed loops that a calibration must reproduce; the last one shows contention."""
SIZES = (2, 4, 8, 16, 32, 64)
"""Batch sizes of which executions are observed."""
_PER_SIZE = 10
"""Number of requests of each client that fill batches of a size."""
_MAX_REQUESTS = 100_000
_UNAVAILABLE = "[UNAVAILABLE]"
"""Beginning of errors of queues, which refuse requests as their policies say."""
_BATCHING = ("dynamic_batching", "sequence_batching")


def calibrate(
    parts: ServerParts,
    request: ClientRequest,
    requests: int,
    duration_s: float,
    mix: Mix,
) -> Calibration:
    """Observe the models that a request reaches.

    First one client sends requests; then each batching model gets its own recorded
    request from several clients; last, closed loops of the whole show how much work
    is done at once.

    Parameters
    ----------
    requests
        Number of requests of the one client.
    duration_s
        Maximum seconds of each closed loop.
    mix
        The requests that are planned; here clients send sequences as long as these.

    Raises
    ------
    InferenceError
        The first request failed.
    BlsnbError
        A later one failed, or a model has a kind of scheduling that is not simulated.
    """
    first = first_trace(parts, request, mix.lengths)
    refuse_unsimulated(configs_of(parts, reached([first])))
    with MachineMeter() as machine, SlownessMeter() as speed:
        found = _observed(parts, request, first, requests, duration_s, mix)
    return replace(
        found, remarks=busy_remarks(machine.others), probe_ns=speed.costs.mean_ns
    )


def _observed(
    parts: ServerParts,
    request: ClientRequest,
    first: Trace,
    requests: int,
    duration_s: float,
    mix: Mix,
) -> Calibration:
    """Observe the models of a request whose trace is known."""
    with ProcessorMeter(_instances(parts)) as meter:
        alone = _traces(parts, request, 1, requests, duration_s, mix.lengths)
        # Some models are not called by every request.
        configs = configs_of(parts, reached([first, *alone]))
        refuse_unsimulated(configs)
        batched = [
            trace
            for config in configs.values()
            for trace in _batches(parts, [first, *alone], config, duration_s)
        ]
    mix = mix._replace(size=size_of(configs, first, first.spans[0]))
    models = _models(
        configs,
        observe(alone, configs, meter.computing_ns),
        observe(batched, configs, meter.computing_ns),
    )
    if request.model_name not in models:
        raise BlsnbError(
            f"no request of the calibration to {request.model_name!r} succeeded within "
            f"{duration_s:g} s; pass a larger duration_s to plan()"
        )
    loops = [
        _loop(parts, request, clients, duration_s, mix.lengths) for clients in _CLIENTS
    ]
    processors = len(os.sched_getaffinity(0))
    limits = parts.engine.settings.rate_limits
    given = None if limits is None else limits.given
    return fitted(request.model_name, HERE, models, loops, processors, mix, given)


def configs_of(parts: ServerParts, names: Iterable[str]) -> dict[str, ModelConfig]:
    """Return the configurations of those models that serve, by name."""
    found = {name: parts.engine.catalog.config(name) for name in names}
    return {name: config for name, config in found.items() if config is not None}


def refuse_unsimulated(configs: Configs) -> None:
    """Refuse models whose scheduling is not simulated.

    Raises
    ------
    BlsnbError
        The text names the model and the reason.
    """
    for name, config in configs.items():
        # With the same inputs in all requests every one but the first would be a hit.
        if config.message.response_cache.enable:
            what = "response caches"
        elif config.iterative:
            what = "iterative sequences"
        else:
            continue
        raise BlsnbError(f"model {name!r}: a plan does not simulate {what} yet")


def client_of(
    parts: ServerParts,
    request: ClientRequest,
    record: Callable[[], RunRecord],
    lengths: Sequence[int],
) -> Client:
    """Return what sends a request, as a stream or in sequences where it must.

    Raises
    ------
    InferenceError
        The model is not ready.
    """
    version = request.fields.version
    try:
        stream = parts.engine.catalog.find(request.model_name, version).decoupled
    except RequestError as error:
        raise inference_error(error) from None
    if lengths:
        return SequenceClient(parts.requests, request, record, stream, lengths)
    return Client(parts.requests, request, record, stream)


def first_trace(
    parts: ServerParts, request: ClientRequest, lengths: Sequence[int]
) -> Trace:
    """Return the trace of one request.

    Raises
    ------
    InferenceError
        It failed.
    BlsnbError
        One of its responses is an error.
    """
    record = parts.recorder.unkept(TraceLevel.TENSORS)
    client = client_of(parts, request, lambda: record, lengths)
    sent = client.next_request(1)
    if client.stream:
        for response in parts.requests.stream(sent, record):
            if response.error:
                raise BlsnbError(f"model {request.model_name!r}: {response.error}")
    else:
        parts.requests.run(sent, None, record)
    trace = trace_so_far(record, False)
    if isinstance(client, SequenceClient):
        client.end()
    return trace


def _instances(parts: ServerParts) -> list[ModelInstance]:
    return [
        instance
        for served in parts.engine.catalog.all_versions()
        if isinstance(served, ServedVersion)
        for instance in served.pool.instances
        if type(instance) is ModelInstance
    ]


def _traces(
    parts: ServerParts,
    request: ClientRequest,
    clients: int,
    requests: int,
    duration_s: float,
    lengths: Sequence[int],
) -> list[Trace]:
    """Send a request from clients in a closed loop; return the traces."""
    records: list[RunRecord] = []

    def record() -> RunRecord:
        records.append(parts.recorder.unkept(TraceLevel.TENSORS))
        return records[-1]

    client = client_of(parts, request, record, lengths)
    _run(client, clients, requests, duration_s)
    return [trace_so_far(record, False) for record in records]


def _run(client: Client, clients: int, requests: int, duration_s: float) -> Loop:
    row = closed_row(client, clients, Load(duration_s, requests))
    if isinstance(client, SequenceClient):
        client.end()
    failures = [text for text in row.errors if not text.startswith(_UNAVAILABLE)]
    if failures:
        raise BlsnbError(
            f"a request of the calibration to {client.request.model_name!r}, with "
            f"{counted(clients, 'client')}, failed: {failures[0]}"
        )
    return Loop(clients, row.p50_us, row.throughput)


def _batches(
    parts: ServerParts, traces: Iterable[Trace], config: ModelConfig, duration_s: float
) -> list[Trace]:
    """Return traces of a model in batches of its recorded request."""
    if config.scheduling not in _BATCHING:
        return []
    trace, span = next(
        (trace, span)
        for trace in traces
        for span in trace.spans
        if trace.models[span.model].name == config.name
    )
    has_sequences = config.scheduling == "sequence_batching"
    message = request_of(trace, span)
    inputs = {ref.name: ref.view() for ref in message.inputs}
    outputs = message.requested_outputs or None
    request = ClientRequest(config.name, inputs, message.fields, outputs)
    sizes = [size for size in SIZES if size <= config.max_batch_size]
    return [
        each
        for size in sizes
        # One more: the first request may be executed alone.
        for each in _traces(
            parts,
            request,
            size + 1,
            size * _PER_SIZE,
            duration_s,
            (_PER_SIZE,) if has_sequences else (),
        )
    ]


def _models(
    configs: Configs,
    alone: Mapping[str, Observed],
    batched: Mapping[str, Observed],
) -> dict[str, CalibratedModel]:
    found = {}
    for name, config in configs.items():
        if name not in alone:
            continue
        executions = [*alone[name].executions]
        if name in batched:
            executions += [each for each in batched[name].executions if each.size > 1]
        overheads_ns = alone[name].overheads_ns
        median_ns = int(np.median(overheads_ns))
        found[name] = CalibratedModel(
            config, by_size(executions), median_ns, overheads_ns
        )
    return found


def _loop(
    parts: ServerParts,
    request: ClientRequest,
    clients: int,
    duration_s: float,
    lengths: Sequence[int],
) -> Loop:
    def record() -> RunRecord:
        return parts.recorder.unkept(TraceLevel.TIMESTAMPS)

    client = client_of(parts, request, record, lengths)
    return _run(client, clients, _MAX_REQUESTS, duration_s)
