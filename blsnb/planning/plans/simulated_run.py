"""The requests of a simulation as a run, for the view."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from blsnb.arguments import check_positive, check_whole
from blsnb.model.config import ModelConfig
from blsnb.planning.judgement import simulate
from blsnb.planning.plans.outcome import ComparedConfigurations
from blsnb.planning.simulation.station import SimulatedRequest
from blsnb.results.run import ImportedRun
from blsnb.trace.events import SIMULATED, CallFlag, ModelInfo
from blsnb.trace.spans import Span, Trace

_MAX_REQUESTS = 100_000
_START_NS = 1_000_000_000
"""Beginning of the virtual time in a trace, where 0 means "not reached"."""
_NO_CONTENTS: Any = dict.fromkeys(
    ("inputs", "outputs", "responses", "logs", "notes"), ()
)
"""Fields of a call that a simulation does not have."""
Key = tuple[str, int, int]
"""An execution: that of requests on an instance of a model from the same time on."""


def run_of(outcome: ComparedConfigurations, requests: int, rate: float) -> ImportedRun:
    """Simulate requests with the best configuration of a plan.

    Raises
    ------
    ValueError
        A number is out of range.
    """
    check_whole(1, _MAX_REQUESTS, requests=requests)
    check_positive(rate=rate)
    found = outcome.calibration
    option = outcome.best.option
    _, answers = simulate(found, option, rate, requests, outcome.seed, outcome.cores)
    configs = {name: model.config for name, model in found.models.items()}
    trace = trace_of(found.model_name, answers.every, {**configs, **option.configs})
    return ImportedRun(trace, [])


def trace_of(
    title: str,
    requests: Sequence[SimulatedRequest],
    configs: Mapping[str, ModelConfig],
) -> Trace:
    """Return simulated requests of clients, and the calls that they led to.

    Parameters
    ----------
    title
        The model that clients call.
    configs
        The configurations of the simulated models.
    """
    known = {
        name: _Model(number, config)
        for number, (name, config) in enumerate(configs.items())
    }
    numbers: dict[Key, int] = {}
    spans = [
        _span(index, each, known[each.request.model], numbers)
        for index, each in enumerate(_calls(requests))
    ]
    end_ns = max((span.request_end_ns for span in spans), default=_START_NS)
    models = tuple(map(_info, configs.values()))
    run_id = f"simulated-{uuid.uuid4().hex[:12]}"
    return Trace(run_id, title, "", models, tuple(spans), end_ns)


def _info(config: ModelConfig) -> ModelInfo:
    backend = "ensemble" if config.is_ensemble else config.backend
    return ModelInfo(config.name, 1, backend, SIMULATED, SIMULATED, "")


class _Model:
    """The number of a model in its trace, and the names of its instances."""

    def __init__(self, number: int, config: ModelConfig) -> None:
        self.number = number
        self.is_ensemble = config.is_ensemble
        self.is_decoupled = config.decoupled
        self.instances = [str(each.name) for each in config.instance_names()]


class _Call(NamedTuple):
    """A request, the row of its caller, and whether calls beside it overlap."""

    request: SimulatedRequest
    parent: int
    is_async: bool


def _calls(roots: Sequence[SimulatedRequest]) -> Iterator[_Call]:
    """Return requests and those that they led to, in the order of their beginnings."""
    found = sorted(_below(roots), key=lambda each: each.began_ns)
    rows = {id(request): row for row, request in enumerate(found)}
    overlapping = {number for each in found for number in _overlapping(each.children)}
    for request in found:
        parent = -1 if request.parent is None else rows[id(request.parent)]
        yield _Call(request, parent, id(request) in overlapping)


def _below(requests: Sequence[SimulatedRequest]) -> Iterator[SimulatedRequest]:
    waiting = [*requests]
    while waiting:
        request = waiting.pop()
        yield request
        # The last one is taken first, and the order of equal times is kept.
        waiting += reversed(request.children)


def _overlapping(calls: Sequence[SimulatedRequest]) -> Iterator[int]:
    """Return the calls of one caller that ran beside others, by `id`."""
    running: SimulatedRequest | None = None
    for call in sorted(calls, key=lambda each: each.began_ns):
        if running is not None and call.began_ns < running.ended_ns:
            yield from (id(running), id(call))
        if running is None or call.ended_ns > running.ended_ns:
            running = call


def _span(index: int, call: _Call, model: _Model, numbers: dict[Key, int]) -> Span:
    request = call.request
    key = request.model, request.instance, request.started_ns
    is_computed = bool(request.batch) and not model.is_ensemble
    began_ns, queued_ns, started_ns, ended_ns = _times_ns(request, is_computed)
    return Span(
        index=index,
        id=index,
        parent=call.parent,
        model=model.number,
        instance=model.instances[request.instance] if is_computed else "",
        request_fields=request.fields,
        requested_outputs=(),
        flags=_flags(call, model),
        line=0,
        execution=numbers.setdefault(key, len(numbers) + 1) if is_computed else 0,
        batch=request.batch if is_computed else 0,
        batching=(),
        request_start_ns=began_ns,
        queue_start_ns=queued_ns,
        compute_start_ns=started_ns,
        compute_input_end_ns=started_ns,
        compute_output_start_ns=ended_ns if is_computed else 0,
        compute_end_ns=ended_ns if is_computed else 0,
        request_end_ns=ended_ns,
        **_NO_CONTENTS,
        response_count=request.responses,
        error=request.error,
        error_code="UNAVAILABLE" if request.error else "",
    )


def _times_ns(request: SimulatedRequest, is_computed: bool) -> tuple[int, ...]:
    times = request.began_ns, request.queued_ns, request.started_ns, request.ended_ns
    began, queued, started, ended = (_START_NS + each for each in times)
    return began, queued, started if is_computed else 0, ended


def _flags(call: _Call, model: _Model) -> CallFlag:
    flags = CallFlag.ASYNC if call.is_async else CallFlag(0)
    if call.request.error:
        flags |= CallFlag.ERROR
    return flags | CallFlag.DECOUPLED if model.is_decoupled else flags
