"""How much work is done at once: fitted to a measured closed loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from blsnb.planning.calibration import CalibratedModel, Calibration, Reproduction
from blsnb.planning.simulation.loads import Simulated, closed_loop

_SIMULATED = 1_000
"""Number of requests of a simulated closed loop."""
_HALVINGS = 10
_LEAST = 0.1
"""Minimum number of processors."""


class Loop(NamedTuple):
    """A measured closed loop.

    Parameters
    ----------
    p50_us
        Median latency.
    rate
        Requests per second.
    """

    clients: int
    p50_us: float
    rate: float


def fitted(
    model_name: str,
    world: str,
    models: Mapping[str, CalibratedModel],
    loops: Sequence[Loop],
    processors: int,
) -> Calibration:
    """Return a calibration that reproduces measured closed loops.

    More processors never make a loop slower. So the number at which the loop with the
    most clients is as fast as measured is found by halving.

    Parameters
    ----------
    processors
        Number of processors of the machine.
    """
    whole = Calibration(model_name, world, models, float(processors))
    crowded = max(loops, key=lambda loop: loop.clients)
    cores = float(processors)
    if _simulated(whole, crowded.clients).rate > crowded.rate:
        low, high = _LEAST, cores
        for _ in range(_HALVINGS):
            cores = (low + high) / 2
            tried = Calibration(model_name, world, models, cores)
            if _simulated(tried, crowded.clients).rate > crowded.rate:
                high = cores
            else:
                low = cores
    found = Calibration(model_name, world, models, cores)
    again = tuple(reproduction(found, loop) for loop in loops)
    return Calibration(model_name, world, models, cores, again)


def _simulated(calibration: Calibration, clients: int) -> Simulated:
    return closed_loop(
        calibration.simulation(), calibration.model_name, clients, _SIMULATED
    )


def reproduction(calibration: Calibration, loop: Loop) -> Reproduction:
    """Return a measured closed loop beside its simulation."""
    again = _simulated(calibration, loop.clients)
    return Reproduction(
        loop.clients, loop.p50_us, again.percentile_us(50), loop.rate, again.rate
    )
