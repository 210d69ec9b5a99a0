"""Makes a calibration agree with a load on a server that traces nothing.

Traces show what an execution does, and may cost time. The statistics of the same server
without traces show how long executions take, for the requests of a load that comes at
random: neither alone on sleeping processors, nor in the lockstep of a closed loop.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from blsnb.parity.triton.executed import BySize, Executed, together
from blsnb.planning.calibration import CalibratedModel, Calibration
from blsnb.planning.fitting import Loop, simulated
from blsnb.planning.simulation.behaviour import Behaviour

_LEAST = 5
"""Minimum number of executions of a batch size whose mean counts."""
_MOST = 3.0
"""Maximum factor of what is missing, where few executions can become longer."""
_HALVINGS = 6
_ROUNDS = 2
"""Longer executions change the load on the models that they call."""


def with_means(model: CalibratedModel, executed: BySize) -> CalibratedModel:
    """Return a model whose batch sizes have the means that a server counted.

    A batch size was traced a few times only. So its executions are those of all sizes,
    scaled to its mean. Models with calls, and those with one size, stay as they are.
    """
    found = [each for size in model.sizes for each in model.by_size[size]]
    if _called(model) or len(model.by_size) == 1:
        return model
    counted = {
        size: each.mean_ns
        for size, each in executed.items()
        if each.executions >= _LEAST
    }
    factor = _ratio(model, executed, counted)
    means = {size: model.mean_ns(size) * factor for size in model.sizes} | counted
    shares = [(each, model.mean_ns(each.size)) for each in found]
    by_size = {
        size: [each.scaled(mean_ns / max(1.0, ns), size) for each, ns in shares]
        for size, mean_ns in sorted(means.items())
    }
    return replace(model, by_size=by_size)


def _ratio(
    model: CalibratedModel, executed: BySize, counted: Mapping[int, float]
) -> float:
    """Return how much longer executions take than the traced ones."""
    traced_ns = sum(model.mean_ns(size) * executed[size].executions for size in counted)
    counted_ns = sum(executed[size].total_ns for size in counted)
    return counted_ns / traced_ns if traced_ns else 1.0


def with_processor_time(executions: Sequence[Behaviour], ns: int) -> list[Behaviour]:
    """Return executions that compute for a time on average.

    Each one computes for the same time, those that are shorter for all of theirs. If
    they were traced while the processors were faster, so that they take less time than
    that, they become longer.
    """
    own_ns = np.sort([each.own_ns for each in executions])
    mean_ns = float(own_ns.mean())
    if not mean_ns or ns >= mean_ns:
        factor = ns / mean_ns if mean_ns else 1.0
        longer = (each.scaled(factor, each.size) for each in executions)
        return [each.with_computing(each.own_ns) for each in longer]
    # The time of each one, if those before it, in their order, have all of theirs.
    before = np.concatenate([[0.0], np.cumsum(own_ns)[:-1]])
    left = np.arange(len(own_ns), 0, -1)
    limits = (ns * len(own_ns) - before) / left
    each_ns = float(limits[np.argmax(limits <= own_ns)])
    return [each.with_computing(each_ns) for each in executions]


def without_spread(executions: Sequence[Behaviour], ns: float) -> list[Behaviour]:
    """Return executions whose own work differs less, with the same mean.

    Parameters
    ----------
    ns
        The part of their standard deviation that has another cause, such as the speed
        of the processors.
    """
    own_ns = np.array([each.own_ns for each in executions], float)
    deviation_ns, mean_ns = float(own_ns.std()), float(own_ns.mean())
    if not ns or not deviation_ns:
        return list(executions)
    left = math.sqrt(max(0.0, 1 - (ns / deviation_ns) ** 2))
    return [
        each.scaled((mean_ns + left * (own - mean_ns)) / max(1.0, own), each.size)
        for each, own in zip(executions, own_ns.tolist(), strict=True)
    ]


def matched(
    found: Calibration, loops: Sequence[Loop], executed: Mapping[str, BySize]
) -> Calibration:
    """Return a calibration that simulates the times of measured loads.

    The own work of each model becomes longer or shorter until its executions take as
    long on average as the server counted; models follow those that they call. Then the
    time outside of the models makes the median latencies equal, or equally wrong.

    Parameters
    ----------
    loops
        The loads; executions are those of the last one.
    executed
        The executions of each model by batch size.
    """
    counted = found.models
    for _ in range(_ROUNDS):
        for name in _callees_first(found):
            whole = together(executed.get(name, {}))
            if whole.executions and not found.models[name].config.is_ensemble:
                found = _with_duration(found, counted[name], whole, loops[-1])
    found = _without_stalls(found, counted, loops)
    frontend = found.frontend
    waiting_ns = max(0, round(frontend.waiting_ns + _missing_ns(found, loops)))
    return replace(found, frontend=frontend._replace(waiting_ns=waiting_ns))


def _without_stalls(
    found: Calibration, counted: Mapping[str, CalibratedModel], loops: Sequence[Loop]
) -> Calibration:
    """Return a calibration whose medians can agree with those of the clients.

    The means that a server counts contain the few executions that something stalled,
    and the medians of its clients do not. What made all executions longer, so that the
    means agree, becomes less where the medians are too long for that.
    """
    if not _is_too_long(found, loops):
        return found
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _is_too_long(_between(found, counted, middle), loops):
            high = middle
        else:
            low = middle
    return _between(found, counted, low)


def _is_too_long(found: Calibration, loops: Sequence[Loop]) -> bool:
    """Whether the medians are too long even without time outside of the models."""
    return found.frontend.waiting_ns + _missing_ns(found, loops) < 0


def _between(
    found: Calibration, counted: Mapping[str, CalibratedModel], share: float
) -> Calibration:
    """Return a calibration with a share of what made its executions longer."""
    models = {}
    for name, model in found.models.items():
        before = counted[name].by_size
        by_size = {
            size: [
                was.longer((each.own_ns - was.own_ns) * share)
                if each.own_ns > was.own_ns
                else each
                for was, each in zip(before[size], behaviours, strict=True)
            ]
            for size, behaviours in model.by_size.items()
        }
        models[name] = replace(model, by_size=by_size)
    return replace(found, models=models)


def _missing_ns(found: Calibration, loops: Sequence[Loop]) -> float:
    """Return what is to be added to latencies for relative errors whose sum is 0."""
    errors = [
        simulated(found, each)[0].percentile_us(50) / each.p50_us - 1 for each in loops
    ]
    return -sum(errors) / sum(1 / each.p50_us for each in loops) * 1e3


def _with_duration(
    found: Calibration, counted: CalibratedModel, executed: Executed, loop: Loop
) -> Calibration:
    """Return a calibration in which executions of a model take as long as measured.

    Parameters
    ----------
    counted
        The model with the means of its batch sizes; see `with_means`.
    """
    name = counted.config.name
    model = found.models[name]
    _, simulation = simulated(found, loop)
    station, drawn = simulation.stations[name], simulation.drawn[name]
    if not station.executions:
        return found
    mean_ns = executed.mean_ns
    if len(counted.by_size) > 1 and not _called(counted):
        # The simulation forms other batches than the server.
        whole_ns = sum(counted.mean_ns(size) * drawn[size] for size in drawn)
        mean_ns = whole_ns / drawn.total()
    missing_ns = mean_ns - station.busy_ns / station.executions
    if found.crowded is not None and len(counted.by_size) == 1:
        # Executions that begin at once are not changed: they have their own mean.
        own = max(station.executions - station.at_once, station.executions / _MOST)
        missing_ns *= station.executions / own
    by_size = {
        size: [each.longer(missing_ns) for each in behaviours]
        for size, behaviours in model.by_size.items()
    }
    return replace(
        found, models={**found.models, name: replace(model, by_size=by_size)}
    )


def _callees_first(found: Calibration) -> list[str]:
    """Return the models, each after those that it calls."""
    seen: set[str] = set()
    order: list[str] = []

    def add(name: str) -> None:
        if name in seen or name not in found.models:
            return
        seen.add(name)
        for called in sorted(_called(found.models[name])):
            add(called)
        order.append(name)

    add(found.model_name)
    return order


def _called(model: CalibratedModel) -> set[str]:
    """Return the models that an ensemble, or an execution, calls."""
    names = {step.model_name for step in model.config.message.ensemble_scheduling.step}
    for behaviours in model.by_size.values():
        names |= {
            step.model for each in behaviours for step in each.steps if step.model
        }
    return names
