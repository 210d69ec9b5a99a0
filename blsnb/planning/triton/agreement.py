"""Calibrations that agree with loads of clients on a real server."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from blsnb.parity.triton.executed import together
from blsnb.planning.calibration import TRITON, CalibratedModel, Calibration
from blsnb.planning.fitting import Loop, reproduction
from blsnb.planning.machine_meter import busy_remarks
from blsnb.planning.simulation.simulation import Frontend
from blsnb.planning.slowness_meter import Costs, joined, spell_remarks
from blsnb.planning.triton.matching import (
    matched,
    with_means,
    with_processor_time,
    without_spread,
)
from blsnb.planning.triton.observation import Observation, TracedModels
from blsnb.planning.triton.phases import (
    Computing,
    Phase,
)
from blsnb.printable import counted

_UNKNOWN_PROCESSORS = (
    "How much the models of this server compute is unknown: all of their time counts "
    "as waiting, so that processors limit nothing in the plan."
)
_AGAIN = (
    "Other processes disturbed {} of the {}, which {} measured again; the measurement "
    "that they disturbed least counts."
)


def calibration_of(
    observation: Observation,
    traced: TracedModels,
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
    costs = joined(each.costs for each in (*traced.phases, *phases))
    unit_ns = costs.mean_ns
    loops = [
        loop._replace(slowness=phase.costs.relative(unit_ns))
        for phase, loop in zip(phases, loops, strict=True)
    ]
    comparable = [each.on_processors(unit_ns) for each in phases]
    crowded = None
    if len(phases) > 1:
        crowded = _agreeing(observation, traced, comparable[0], loops[:1], costs)
    found = _agreeing(
        observation, traced, comparable[-1], loops[1:] or loops, costs, crowded
    )
    return replace(
        found,
        remarks=tuple(remarks(traced, phases)),
        reproductions=tuple(reproduction(found, loop) for loop in loops),
    )


def _agreeing(
    observation: Observation,
    traced: TracedModels,
    phase: Phase,
    loops: Sequence[Loop],
    costs: Costs,
    crowded: Calibration | None = None,
) -> Calibration:
    """Return the calibration that agrees with loads; the phase is the last of them."""
    slowness = costs.relative(costs.mean_ns)
    server_ns = _server_ns(phase, traced.models)
    found = Calibration(
        observation.model_name,
        TRITON,
        {
            name: _computing(
                with_means(model, phase.executed.get(name, {})),
                _spent(name, traced, phase, server_ns),
                costs.deviation,
            )
            for name, model in traced.models.items()
        },
        float(len(os.sched_getaffinity(0))),
        frontend=frontend_of(phase, server_ns, traced.transport_ns),
        mix=observation.mix,
        rate_limits=observation.rate_limits,
        crowded=crowded,
        slowness=slowness,
        probe_ns=costs.mean_ns,
    )
    return matched(found, loops, phase.executed)


def remarks(traced: TracedModels, phases: Sequence[Phase]) -> Iterator[str]:
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
    yield from spell_remarks(joined(each.costs for each in every))


def _computing(
    model: CalibratedModel, spent: Computing, deviation: float
) -> CalibratedModel:
    """Return a model whose executions compute for a part of their time.

    Parameters
    ----------
    deviation
        Standard deviation of the slowness, which the simulation has itself.
    """
    if model.config.is_ensemble:
        return model
    found = {}
    for size, behaviours in model.by_size.items():
        ns = spent.of(size)
        found[size] = with_processor_time(
            without_spread(behaviours, ns * deviation), ns
        )
    return replace(model, by_size=found)


def _server_ns(phase: Phase, models: Mapping[str, CalibratedModel]) -> float:
    """Return the server's own processor time for each request.

    Those of clients and those of models cost the same.
    """
    if phase.processors is None:
        return 0.0
    counts = (together(phase.executed.get(name, {})).executions for name in models)
    return phase.processors.server_ns / (phase.requests + sum(counts))


def _spent(
    name: str, traced: TracedModels, phase: Phase, server_ns: float
) -> Computing:
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
