"""Calibrates a plan from a recording of a production server.

A recording has the executions of Python models with their BLS calls, and no queues: the
time of a call outside of the called model's execution is estimated from quick calls,
which hardly waited.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from blsnb.errors import BlsnbError
from blsnb.model.config import ModelConfig
from blsnb.planning.calibration import (
    TRITON,
    CalibratedModel,
    Calibration,
    Reproduction,
    by_size,
)
from blsnb.planning.observations import Observed, observe
from blsnb.planning.simulation.behaviour import behaviour
from blsnb.planning.simulation.loads import open_loop
from blsnb.results.run import Run
from blsnb.trace.spans import Trace

_QUICK_PERCENT = 10
_MAX_REPRODUCED = 5_000
_NO_PROCESSORS = (
    "A recording does not contain processor times: {} counts as waiting. Pass "
    "computing={{MODEL: share}} for models that compute."
)
_NO_FRONTEND = "What a client's request costs outside of the models was not recorded."
_NO_EXECUTIONS = (
    "{} has no recorded executions: the durations of its calls were used, with their "
    "time in its queue."
)


class Recorded(Protocol):
    """What `blsnb.load_recording` returns."""

    def __iter__(self) -> Any:
        """Iterate over the runs of requests."""

    @property
    def unattributed(self) -> Sequence[Run]:
        """BLS calls of executions with several requests."""


def calibrate_recorded(
    recording: Recorded,
    model_name: str,
    configs: Mapping[str, ModelConfig],
    computing: Mapping[str, float],
) -> Calibration:
    """Return the calibration of a model and of all that it calls.

    Parameters
    ----------
    configs
        The configurations of the server, by model.
    computing
        Share of a model's own work that needs a processor, from 0 to 1.

    Raises
    ------
    BlsnbError
        A model was not recorded, or has no configuration.
    """
    traces = [run.trace for run in recording]
    orphans = [run.trace for run in recording.unattributed]
    observed = observe(traces, configs, unattributed=orphans)
    calls = _calls_ns([*traces, *orphans])
    names = _reached(model_name, observed)
    for name in names:
        _check_known(name, configs, observed, calls)
    found = Calibration(
        model_name,
        TRITON,
        {
            name: _model(
                configs[name],
                observed.get(name),
                calls.get(name, []),
                computing.get(name, 0.0),
            )
            for name in names
        },
        float(len(os.sched_getaffinity(0))),
        remarks=tuple(_remarks(names, observed, computing)),
    )
    return replace(found, reproductions=tuple(_reproduced(found, traces)))


def _check_known(
    name: str,
    configs: Mapping[str, ModelConfig],
    observed: Mapping[str, Observed],
    calls: Mapping[str, Sequence[int]],
) -> None:
    """Refuse a model without requests or without a configuration."""
    if name not in observed and name not in calls:
        raise BlsnbError(f"the recording has no request of model {name!r}")
    if name not in configs:
        raise BlsnbError(
            f"model {name!r} was recorded, and this server does not have it; "
            "import its repository first"
        )


def _remarks(
    names: Sequence[str],
    observed: Mapping[str, Observed],
    computing: Mapping[str, float],
) -> Iterator[str]:
    """Yield what the recording lacks."""
    yield _NO_FRONTEND
    for name in names:
        if name not in observed:
            yield _NO_EXECUTIONS.format(name)
    if unknown := [name for name in names if name not in computing]:
        yield _NO_PROCESSORS.format(f"all work of {', '.join(unknown)}")


def _calls_ns(traces: Iterable[Trace]) -> dict[str, list[int]]:
    """Return the durations of BLS calls, by the called model."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for trace in traces:
        for span in trace.spans:
            # A call has no times of its execution, which is in a run of its own.
            if not span.compute_end_ns and not span.error and span.request_end_ns:
                found[trace.models[span.model].name].append(span.duration_ns)
    return dict(found)


def _reached(model_name: str, observed: Mapping[str, Observed]) -> list[str]:
    """Return a model and those that its executions call, directly or not."""
    found: list[str] = []
    pending = [model_name]
    while pending:
        name = pending.pop()
        if name not in found:
            found.append(name)
            executions = observed[name].executions if name in observed else []
            pending += {
                step.model for each in executions for step in each.steps if step.model
            }
    return sorted(found)


def _model(
    config: ModelConfig,
    observed: Observed | None,
    calls_ns: Sequence[int],
    share: float,
) -> CalibratedModel:
    executions, overhead_ns = [behaviour(0, ns, []) for ns in calls_ns], 0
    if observed is not None:
        executions = observed.executions
    if observed is not None and calls_ns:
        quick_call = np.percentile(calls_ns, _QUICK_PERCENT)
        quick = np.percentile(observed.durations_ns, _QUICK_PERCENT)
        overhead_ns = max(0, round(float(quick_call - quick)))
    shared = [each.with_computing(each.own_ns * share) for each in executions]
    return CalibratedModel(config, by_size(shared), overhead_ns)


def _reproduced(
    calibration: Calibration, traces: Iterable[Trace]
) -> Iterator[Reproduction]:
    """Yield the recorded executions of the model beside their simulation.

    The simulation gets the requests at their recorded times.
    """
    name = calibration.model_name
    roots = [trace.spans[0] for trace in traces if trace.title == name]
    spans = sorted(
        (each.request_start_ns, each.compute_end_ns)
        for each in roots
        if each.compute_end_ns
    )[:_MAX_REPRODUCED]
    if not spans:
        return
    times_ns = [start - spans[0][0] for start, _ in spans]
    answers = open_loop(calibration.simulation(), name, times_ns).every
    simulated = [each.ended_ns - each.started_ns for each in answers]
    rate = (len(spans) - 1) / times_ns[-1] * 1e9 if times_ns[-1] else 0.0
    measured_us = float(np.median([end - start for start, end in spans])) / 1e3
    simulated_us = float(np.median(simulated)) / 1e3
    yield Reproduction(0, measured_us, simulated_us, rate, rate, recorded=True)
