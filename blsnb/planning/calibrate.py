"""Calibrates a plan from the models of a server, in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from blsnb.benchmark.client import Client
from blsnb.benchmark.level import Load
from blsnb.benchmark.measure import closed_row
from blsnb.engine.instance.instance import ModelInstance
from blsnb.engine.version import ServedVersion
from blsnb.errors import BlsnbError
from blsnb.parts.requests import ClientRequest
from blsnb.parts.server_parts import ServerParts
from blsnb.planning.calibration import HERE, CalibratedModel, Calibration, by_size
from blsnb.planning.fitting import Loop, fitted
from blsnb.planning.observations import Observed, observe
from blsnb.planning.processor_meter import ProcessorMeter
from blsnb.results.replay import request_of
from blsnb.trace.capture import trace_so_far
from blsnb.trace.events import TraceLevel
from blsnb.trace.run_record import RunRecord
from blsnb.trace.spans import Trace

_CLIENTS = (1, 4)
"""Closed loops that a calibration must reproduce; the last one shows contention."""
_SIZES = (2, 4, 8, 16, 32, 64)
_PER_SIZE = 10
"""Number of requests of each client that fill batches of a size."""
_MAX_REQUESTS = 100_000


def calibrate(
    parts: ServerParts, request: ClientRequest, *, requests: int, duration_s: float
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

    Raises
    ------
    InferenceError
        A request failed.
    BlsnbError
        A model has a kind of scheduling that is not simulated.
    """
    first = parts.requests.run(request, None, _record(parts, TraceLevel.TENSORS)).trace
    names = sorted({model.name for model in first.models if model.kind != "span"})
    for name in names:
        _refuse(parts, name)
    with ProcessorMeter(_instances(parts, names)) as meter:
        alone = _traces(parts, request, 1, requests, duration_s)
        batched = [
            trace
            for name in names
            for trace in _batches(parts, first, name, duration_s)
        ]
    models = _models(
        parts,
        names,
        observe(alone, meter.computing_ns),
        observe(batched, meter.computing_ns),
    )
    loops = [_loop(parts, request, clients, duration_s) for clients in _CLIENTS]
    processors = len(os.sched_getaffinity(0))
    return fitted(request.model_name, HERE, models, loops, processors)


def _refuse(parts: ServerParts, name: str) -> None:
    """Refuse a model whose scheduling is not simulated."""
    config = parts.engine.catalog.config(name)
    if config is None:
        return
    message = config.message
    limited = any(group.rate_limiter.ByteSize() for group in message.instance_group)
    reasons = {
        "sequences": message.HasField("sequence_batching"),
        "decoupled models": config.decoupled,
        "rate limits": limited,
        "response caches": message.response_cache.enable,
    }
    for what, is_there in reasons.items():
        if is_there:
            raise BlsnbError(f"model {name!r}: a plan does not simulate {what} yet")


def _record(parts: ServerParts, level: TraceLevel) -> RunRecord:
    return parts.recorder.unkept(level)


def _instances(parts: ServerParts, names: Iterable[str]) -> list[ModelInstance]:
    found = [parts.engine.catalog.find(name, -1) for name in names]
    return [
        instance
        for served in found
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
) -> list[Trace]:
    """Send a request from clients in a closed loop; return the traces."""
    records: list[RunRecord] = []

    def record() -> RunRecord:
        records.append(_record(parts, TraceLevel.TENSORS))
        return records[-1]

    _run(parts, request, record, clients, requests, duration_s)
    return [trace_so_far(record, False) for record in records]


def _run(
    parts: ServerParts,
    request: ClientRequest,
    record: Callable[[], RunRecord],
    clients: int,
    requests: int,
    duration_s: float,
) -> Loop:
    client = Client(parts.requests, request, record, stream=False)
    row = closed_row(client, clients, Load(duration_s, requests))
    return Loop(clients, row.p50_us, row.throughput)


def _batches(
    parts: ServerParts, trace: Trace, name: str, duration_s: float
) -> list[Trace]:
    """Return traces of a model in batches of its recorded request."""
    config = parts.engine.catalog.config(name)
    spans = [each for each in trace.spans if trace.models[each.model].name == name]
    if config is None or not config.message.HasField("dynamic_batching") or not spans:
        return []
    message = request_of(trace, spans[0])
    inputs = {ref.name: ref.view() for ref in message.inputs}
    outputs = message.requested_outputs or None
    request = ClientRequest(name, inputs, message.fields, outputs)
    sizes = [size for size in _SIZES if size <= config.max_batch_size]
    return [
        each
        for size in sizes
        # One more: the first request may be executed alone.
        for each in _traces(parts, request, size + 1, size * _PER_SIZE, duration_s)
    ]


def _models(
    parts: ServerParts,
    names: Iterable[str],
    alone: Mapping[str, Observed],
    batched: Mapping[str, Observed],
) -> dict[str, CalibratedModel]:
    found = {}
    for name in names:
        config = parts.engine.catalog.config(name)
        if config is None or name not in alone:
            continue
        executions = [*alone[name].executions]
        if name in batched:
            executions += [each for each in batched[name].executions if each.size > 1]
        found[name] = CalibratedModel(
            config, by_size(executions), int(np.median(alone[name].overheads_ns))
        )
    return found


def _loop(
    parts: ServerParts, request: ClientRequest, clients: int, duration_s: float
) -> Loop:
    def record() -> RunRecord:
        return _record(parts, TraceLevel.TIMESTAMPS)

    return _run(parts, request, record, clients, _MAX_REQUESTS, duration_s)
