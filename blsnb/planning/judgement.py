"""What a simulation says of a configuration under a load."""

from __future__ import annotations

import math
from typing import NamedTuple

from blsnb.benchmark.arrivals import POISSON, arrivals_at
from blsnb.planning.calibration import Calibration
from blsnb.planning.options import Option
from blsnb.planning.simulation.loads import Simulated, open_loop
from blsnb.planning.simulation.simulation import Simulation

CORES = "cores"
_IDLE = 0.01
"""Busy share below which waiting cannot change a 99th percentile."""
_BUSY = 0.1
"""Busy share from which a part of a load that is held is called a bottleneck."""
_HELD = 0.97
"""Share of the rate that must be answered."""
_REFUSED = 0.01
"""Share of the requests that queues may refuse, as their policies say."""


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
    refused_share
        Share of its requests that its queue policy refused.
    """

    use: float
    batch_size: float
    queue_us: float
    calls: float
    refused_share: float = 0.0


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
    refused_share
        Share of refused requests.
    refusals
        Numbers of refused requests by text.
    delayed
        Number of requests that expired and were executed behind all others.
    firsts_us
        Median and 99th percentile of the latency to the first response of a stream.
    by_priority
        Median and 99th percentile of the latency by priority, if there are several.
    resources
        Used share of each resource of a server that limits rates.
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
    refused_share: float = 0.0
    refusals: dict[str, int] = {}
    delayed: int = 0
    firsts_us: tuple[float, float] = (math.nan, math.nan)
    by_priority: dict[int, tuple[float, float]] = {}
    resources: dict[str, float] = {}

    @property
    def is_held(self) -> bool:
        """Whether nearly all requests were answered at the rate they were sent."""
        is_fast = self.answered_rate >= _HELD * self.rate
        return is_fast and self.refused_share <= _REFUSED

    @property
    def use(self) -> float:
        """Busy share of the busiest model, resource or the processors."""
        uses = [each.use for each in self.models.values()]
        return max([self.cores_use, *uses, *self.resources.values()])

    @property
    def is_idle(self) -> bool:
        """Whether no model, processor or resource is busy for 1 % of the time."""
        return self.use < _IDLE

    @property
    def has_bottleneck(self) -> bool:
        """Whether anything is busy for 10 % of the time, or requests are left over."""
        return self.use >= _BUSY or not self.is_held

    @property
    def bottleneck(self) -> str:
        """The busiest model, or ``"cores"``."""
        uses = {name: each.use for name, each in self.models.items()}
        uses[CORES] = self.cores_use
        return max(uses, key=lambda name: uses[name])

    @property
    def limiting_resource(self) -> str:
        """The busiest resource, if it is busier than all instances and processors."""
        name = self.bottleneck
        busiest = self.cores_use if name == CORES else self.models[name].use
        return max(
            (each for each, use in self.resources.items() if use > busiest),
            key=lambda each: self.resources[each],
            default="",
        )

    @property
    def refusing_model(self) -> str:
        """The model whose queue policy refuses most requests, if they are many."""
        return max(
            (n for n, each in self.models.items() if each.refused_share > _REFUSED),
            key=lambda name: self.models[name].refused_share,
            default="",
        )


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
    simulation, answers = simulate(calibration, option, rate, requests, seed, cores)
    return _judgement(calibration, simulation, answers, rate)


def simulate(
    calibration: Calibration,
    option: Option | None,
    rate: float,
    requests: int,
    seed: int = 0,
    cores: float | None = None,
) -> tuple[Simulation, Simulated]:
    """Return a simulation of random requests at a rate, and its answers."""
    configs = {} if option is None else option.configs
    simulation = calibration.simulation(configs, cores, seed)
    # One arrival is a whole sequence.
    length = calibration.mix.mean_length
    count = max(1, round(requests / length))
    times = arrivals_at(POISSON, rate / length, count, seed).times_ns
    answers = open_loop(
        simulation, calibration.model_name, times, mix=calibration.mix, seed=seed
    )
    return simulation, answers


def _judgement(
    calibration: Calibration, simulation: Simulation, answers: Simulated, rate: float
) -> Judgement:
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
        _uses(calibration.model_name, simulation),
        simulation.cores.busy_ns / _span_ns(simulation) / simulation.cores.count,
        extrapolated,
        simulation.calls,
        answers.failed / max(1, len(answers.kept)),
        answers.errors,
        answers.delayed,
        (answers.first_percentile_us(50), answers.first_percentile_us(99)),
        _by_priority(answers),
        _resources(simulation),
    )


def _resources(simulation: Simulation) -> dict[str, float]:
    return {
        name if device is None else f"{name} of device {device}": use
        for (name, device), use in simulation.resource_uses().items()
    }


def _span_ns(simulation: Simulation) -> int:
    return max(1, simulation.timeline.now_ns)


def _uses(model_name: str, simulation: Simulation) -> dict[str, ModelUse]:
    span_ns = _span_ns(simulation)
    clients = max(1, simulation.stations[model_name].requests)
    return {
        name: ModelUse(
            station.busy_ns / span_ns / station.count if station.count else 0.0,
            station.inferences / max(1, station.executions),
            station.queue_ns / max(1, station.requests) / 1e3,
            station.requests / clients,
            station.refused / max(1, station.requests + station.refused),
        )
        for name, station in simulation.stations.items()
    }


def _by_priority(answers: Simulated) -> dict[int, tuple[float, float]]:
    p50_us, p99_us = answers.by_priority(50), answers.by_priority(99)
    if len(p50_us) == 1:
        return {}
    return {each: (p50_us[each], p99_us[each]) for each in p50_us}
