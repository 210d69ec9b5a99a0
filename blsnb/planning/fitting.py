"""How many processors do work at once: fitted to a measured closed loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from blsnb.engine.scheduling.rate_limiter import Given
from blsnb.planning.calibration import CalibratedModel, Calibration, Reproduction
from blsnb.planning.simulation.loads import Mix, Simulated, closed_loop, open_loop
from blsnb.planning.simulation.pace import Slowness
from blsnb.planning.simulation.simulation import Simulation

_SIMULATED = 1_000
"""Number of requests of a simulated closed loop."""
_HALVINGS = 10
_BEGINS = 8
"""Number of simulations of a closed loop; its clients begin together in the last one,
and at times of their own in the others."""
_MIN_CORES = 0.1


class Loop(NamedTuple):
    """A measured load.

    Parameters
    ----------
    clients
        Number of clients in a closed loop; 0 for requests that come at their times.
    p50_us
        Median latency.
    rate
        Requests per second.
    times_ns
        Times of the requests without clients.
    slowness
        That of the processors during the load; empty if it is not known.
    """

    clients: int
    p50_us: float
    rate: float
    times_ns: Sequence[int] = ()
    slowness: Slowness = ()


def fitted(
    model_name: str,
    world: str,
    models: Mapping[str, CalibratedModel],
    loops: Sequence[Loop],
    processors: int,
    mix: Mix = Mix(),  # noqa: B008 - it is immutable
    rate_limits: Given | None = None,
) -> Calibration:
    """Return a calibration that reproduces measured closed loops.

    More processors never make a loop slower. So the number at which the loop with the
    most clients is as fast as measured is found by halving.

    Parameters
    ----------
    processors
        Number of processors of the machine.
    mix, rate_limits
        As of `Calibration`.
    """
    cores = float(processors)
    whole = Calibration(
        model_name, world, models, cores, mix=mix, rate_limits=rate_limits
    )
    crowded = max(loops, key=lambda loop: loop.clients)
    if _answers(whole, crowded).rate > crowded.rate:
        low, high = _MIN_CORES, cores
        for _ in range(_HALVINGS):
            cores = (low + high) / 2
            if _answers(replace(whole, cores=cores), crowded).rate > crowded.rate:
                high = cores
            else:
                low = cores
    found = replace(whole, cores=cores)
    again = tuple(reproduction(found, loop) for loop in loops)
    return replace(found, reproductions=again)


def _answers(calibration: Calibration, loop: Loop, seed: int = 0) -> Simulated:
    found = calibration.closed if loop.clients else calibration
    return simulated(found, loop, seed)[0]


def simulated(
    calibration: Calibration, loop: Loop, seed: int = 0
) -> tuple[Simulated, Simulation]:
    """Run a measured load, and return its answers and the simulation.

    Parameters
    ----------
    seed
        Decides when each client of a closed loop begins.
    """
    simulation = calibration.simulation(observed=loop.slowness)
    # The observed clients send requests of one priority.
    mix = calibration.mix._replace(kinds=calibration.mix.kinds[:1])
    name = calibration.model_name
    if loop.clients:
        found = closed_loop(
            simulation,
            name,
            loop.clients,
            _SIMULATED,
            mix=mix,
            seed=seed,
            apart=seed < _BEGINS - 1,
        )
    else:
        found = open_loop(simulation, name, loop.times_ns, mix=mix)
    return found, simulation


def reproduction(calibration: Calibration, loop: Loop) -> Reproduction:
    """Return a measured load beside its simulation.

    A closed loop of a model with batches may have several stable states: its clients
    stay together, or in turns, as they began. The one nearest to the measured counts.
    """
    seeds = range(_BEGINS if loop.clients > 1 else 1)
    again = [_answers(calibration, loop, each) for each in seeds]
    medians_us = [each.percentile_us(50) for each in again]
    errors = [abs(each - loop.p50_us) for each in medians_us]
    nearest = int(np.argmin(errors))
    return Reproduction(
        loop.clients,
        loop.p50_us,
        medians_us[nearest],
        loop.rate,
        again[nearest].rate,
        states_us=(min(medians_us), max(medians_us)),
    )
