"""A repository under load, in simulated time."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from blsnb.model.config import ModelConfig
from blsnb.planning.simulation.behaviour import Behaviour, Step
from blsnb.planning.simulation.cores import Cores
from blsnb.planning.simulation.station import (
    BatchingStation,
    DefaultStation,
    EnsembleStation,
    SimulatedRequest,
    Station,
)
from blsnb.planning.simulation.timeline import Timeline


@dataclass(frozen=True)
class SimulatedModel:
    """What a simulation knows of a model.

    Parameters
    ----------
    config
        Its configuration: number of instances, batching.
    draw
        Returns an execution of a batch of a size.
    overhead_ns
        Time of a request outside of queue and execution.
    """

    config: ModelConfig
    draw: Callable[[int, random.Random], Behaviour]
    overhead_ns: int = 0


class Frontend(NamedTuple):
    """Work for a request of a client before it reaches its model.

    Parameters
    ----------
    computing_ns, waiting_ns
        Time on a processor, and other time.
    """

    computing_ns: int = 0
    waiting_ns: int = 0


NO_FRONTEND = Frontend()


class Simulation:
    """The models of a repository, each with its queue and instances.

    Parameters
    ----------
    models
        By name.
    cores
        Number of processors.
    seed
        The same seed gives the same answers.
    frontend
        Work for each request of a client.
    """

    def __init__(
        self,
        models: Mapping[str, SimulatedModel],
        cores: float,
        seed: int = 0,
        frontend: Frontend = NO_FRONTEND,
    ) -> None:
        self.timeline = Timeline()
        self.cores = Cores(self.timeline, cores)
        self._models = models
        self._frontend = frontend
        self._random = random.Random(seed)
        self.calls = 0
        """Number of requests, of clients and of models."""
        self.drawn: dict[str, set[int]] = {name: set() for name in models}
        """Batch sizes of the executions, by model."""
        self.stations = {
            name: self._station(name, model) for name, model in models.items()
        }

    def _station(self, name: str, model: SimulatedModel) -> Station:
        config = model.config

        def execute(
            requests: Sequence[SimulatedRequest], done: Callable[[], None]
        ) -> None:
            size = sum(request.size for request in requests)
            self.drawn[name].add(size)
            drawn = model.draw(size, self._random)
            _Execution(self, requests[0], drawn.steps, done).advance()

        if config.message.HasField("ensemble_scheduling"):
            return EnsembleStation(self.timeline, execute)
        count = max(1, len(config.instance_names()))
        if config.message.HasField("dynamic_batching"):
            return BatchingStation(self.timeline, execute, count, config)
        return DefaultStation(self.timeline, execute, count)

    def send(
        self,
        model: str,
        size: int,
        answered: Callable[[SimulatedRequest], None],
        parent: SimulatedRequest | None = None,
    ) -> SimulatedRequest:
        """Send a request now."""
        self.calls += 1
        request = SimulatedRequest(model, size, answered, parent)
        request.began_ns = self.timeline.now_ns
        if parent is not None:
            parent.children.append(request)
        add = self.stations[model].add
        overhead_ns = self._models[model].overhead_ns
        if parent is None:
            overhead_ns += self._frontend.waiting_ns

        def received() -> None:
            if overhead_ns:
                self.timeline.after(overhead_ns, lambda: add(request))
            else:
                add(request)

        if parent is None and self._frontend.computing_ns:
            self.cores.compute(self._frontend.computing_ns, received)
        else:
            received()
        return request

    def run(
        self,
        model: str,
        arrivals_ns: Iterable[int],
        answered: Callable[[SimulatedRequest], None],
        size: int = 1,
    ) -> None:
        """Send requests of clients at their times, until all are answered."""
        times = iter(arrivals_ns)

        def arrive() -> None:
            send_next()
            self.send(model, size, answered)

        def send_next() -> None:
            ns = next(times, None)
            if ns is not None:
                self.timeline.at(ns, arrive)

        send_next()
        self.timeline.run()


class _Execution:
    """Runs the steps of a behaviour."""

    def __init__(
        self,
        simulation: Simulation,
        request: SimulatedRequest,
        steps: tuple[Step, ...],
        done: Callable[[], None],
    ) -> None:
        self._simulation = simulation
        self._request = request
        self._steps = steps
        self._done = done
        self._next = 0
        self._begun = 0
        self._ended: set[int] = set()
        self._waits = False

    def advance(self) -> None:
        """Begin the next step, or wait for the calls before it."""
        step = self._steps[self._next]
        self._waits = not self._ended.issuperset(step.after)
        if self._waits:
            return
        self._next += 1
        simulation = self._simulation
        if step.computing_ns:
            simulation.cores.compute(step.computing_ns, lambda: self._computed(step))
        else:
            self._computed(step)

    def _computed(self, step: Step) -> None:
        if step.waiting_ns:
            timeline = self._simulation.timeline
            timeline.after(step.waiting_ns, lambda: self._worked(step))
        else:
            self._worked(step)

    def _worked(self, step: Step) -> None:
        if not step.model:
            self._done()
            return
        number, self._begun = self._begun, self._begun + 1

        def answered(_: SimulatedRequest) -> None:
            self._ended.add(number)
            if self._waits:
                self.advance()

        self._simulation.send(step.model, step.size, answered, self._request)
        self.advance()
