"""Loads of a simulation: clients in a closed loop, requests at their times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from blsnb.planning.simulation.simulation import Simulation
from blsnb.planning.simulation.station import SimulatedRequest

_WARM_SHARE = 0.1


class Simulated(NamedTuple):
    """The answers of a simulation.

    Parameters
    ----------
    latencies_us
        Of the requests of clients without the first tenth, in the order of their ends.
    rate
        Answered requests per second.
    failed
        Number of refused requests.
    """

    latencies_us: np.ndarray
    rate: float
    failed: int

    def percentile_us(self, percent: float) -> float:
        """Return a percentile of the latencies; NaN without any."""
        found = self.latencies_us
        return float(np.percentile(found, percent)) if len(found) else float("nan")


def _answers(requests: Sequence[SimulatedRequest]) -> Simulated:
    kept = requests[int(len(requests) * _WARM_SHARE) :]
    good = [each for each in kept if not each.error]
    times = np.array([each.ended_ns - each.began_ns for each in good], float) / 1e3
    span_ns = kept[-1].ended_ns - kept[0].ended_ns if len(kept) > 1 else 0
    rate = (len(good) - 1) / span_ns * 1e9 if span_ns else 0.0
    return Simulated(times, rate, len(kept) - len(good))


def closed_loop(
    simulation: Simulation, model: str, clients: int, requests: int, size: int = 1
) -> Simulated:
    """Send the next request of each client with the end of its last one."""
    ended: list[SimulatedRequest] = []
    left = requests

    def send() -> None:
        nonlocal left
        if left:
            left -= 1
            simulation.send(model, size, answered)

    def answered(request: SimulatedRequest) -> None:
        ended.append(request)
        send()

    for _ in range(clients):
        simulation.timeline.at(0, send)
    simulation.timeline.run()
    return _answers(ended)


def open_loop(
    simulation: Simulation, model: str, times_ns: Sequence[int], size: int = 1
) -> Simulated:
    """Send requests at their times."""
    ended: list[SimulatedRequest] = []
    simulation.run(model, times_ns, ended.append, size)
    return _answers(ended)
