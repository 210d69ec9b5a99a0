"""What a simulation says of a configuration under a load."""

from __future__ import annotations

from typing import NamedTuple

from blsnb.benchmark.arrivals import POISSON, arrivals_at
from blsnb.benchmark.level import Load
from blsnb.planning.calibration import Calibration
from blsnb.planning.options import Option
from blsnb.planning.simulation.loads import Simulated, open_loop
from blsnb.planning.simulation.simulation import Simulation

CORES = "cores"
_HELD = 0.97
"""Share of the rate that must be answered."""


class ModelUse(NamedTuple):
    """How busy a model was.

    Parameters
    ----------
    use
        Busy share of its instances, from 0 to 1; 0 for an ensemble.
    batch_size
        Mean batch size.
    queue_us
        Mean time in its queue.
    calls
        Number of its requests for each request of a client.
    """

    use: float
    batch_size: float
    queue_us: float
    calls: float


class Judgement(NamedTuple):
    """A simulated load.

    Parameters
    ----------
    rate
        Requests per second that clients sent.
    answered_rate
        Requests per second that were answered.
    p50_us, p90_us, p99_us
        Latencies.
    failed
        Number of refused requests.
    models
        By name.
    cores_use
        Busy share of the processors.
    extrapolated
        Batch sizes outside of what was observed, by model.
    calls
        Number of simulated requests, of clients and of models.
    """

    rate: float
    answered_rate: float
    p50_us: float
    p90_us: float
    p99_us: float
    failed: int
    models: dict[str, ModelUse]
    cores_use: float
    extrapolated: dict[str, list[int]]
    calls: int

    @property
    def is_held(self) -> bool:
        """Whether nearly all requests were answered at the rate they were sent."""
        return self.answered_rate >= _HELD * self.rate and not self.failed

    @property
    def bottleneck(self) -> str:
        """The busiest model, or ``"cores"``."""
        uses = {name: each.use for name, each in self.models.items()}
        uses[CORES] = self.cores_use
        return max(uses, key=lambda name: uses[name])


def judge(
    calibration: Calibration,
    option: Option | None,
    rate: float,
    requests: int,
    seed: int = 0,
    cores: float | None = None,
) -> Judgement:
    """Simulate random requests at a rate.

    Parameters
    ----------
    cores
        Number of processors; None for that of the calibration.
    """
    configs = {} if option is None else option.configs
    simulation = calibration.simulation(configs, cores, seed)
    times = arrivals_at(POISSON, rate, Load(requests / rate, requests), seed).times_ns
    answers = open_loop(simulation, calibration.model_name, times)
    return _judgement(calibration, simulation, answers, rate)


def _judgement(
    calibration: Calibration, simulation: Simulation, answers: Simulated, rate: float
) -> Judgement:
    span_ns = max(1, simulation.timeline.now_ns)
    clients = max(1, simulation.stations[calibration.model_name].requests)
    uses = {
        name: ModelUse(
            station.busy_ns / span_ns / station.count if station.count else 0.0,
            station.inferences / max(1, station.executions),
            station.queue_ns / max(1, station.requests) / 1e3,
            station.requests / clients,
        )
        for name, station in simulation.stations.items()
    }
    extrapolated = {
        name: sizes
        for name, model in calibration.models.items()
        if (sizes := model.unmeasured(simulation.drawn[name]))
    }
    p50_us, p90_us, p99_us = map(answers.percentile_us, (50, 90, 99))
    return Judgement(
        rate,
        answers.rate,
        p50_us,
        p90_us,
        p99_us,
        answers.failed,
        uses,
        simulation.cores.busy_ns / span_ns / simulation.cores.count,
        extrapolated,
        simulation.calls,
    )
