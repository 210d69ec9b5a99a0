"""A repository under load, in simulated time."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from blsnb.engine.scheduling.rate_limiter import Given, Resource
from blsnb.model.config import ModelConfig
from blsnb.planning.simulation.admission import Admission
from blsnb.planning.simulation.batching_station import BatchingStation
from blsnb.planning.simulation.behaviour import Behaviour
from blsnb.planning.simulation.cores import Cores, Processors, SlicedCores, nothing
from blsnb.planning.simulation.ensemble_station import EnsembleStation
from blsnb.planning.simulation.execution import Received, SimulatedExecution
from blsnb.planning.simulation.pace import Pace
from blsnb.planning.simulation.sequence_station import SequenceStation
from blsnb.planning.simulation.station import (
    DefaultStation,
    Execute,
    SimulatedRequest,
    Station,
)
from blsnb.planning.simulation.timeline import Action, Timeline
from blsnb.request_fields import PLAIN, RequestFields

Draw = Callable[[int, random.Random], Behaviour]


@dataclass(frozen=True)
class SimulatedModel:
    """What a simulation knows of a model.

    Parameters
    ----------
    config
        Its configuration: number of instances, scheduling.
    draw
        Returns an execution of a batch of a size; of an ensemble a request, of which
        only the duration of its own work is used.
    overhead_ns
        Time of a request outside of queue and execution.
    overheads_ns
        Such times, of which each request has a random one; if empty, it is the same
        for all.
    draw_next
        As ``draw``, for an execution that begins with the end of another one on its
        instance; None for the same.
    """

    config: ModelConfig
    draw: Draw
    overhead_ns: int = 0
    overheads_ns: Sequence[int] = ()
    draw_next: Draw | None = None


class Frontend(NamedTuple):
    """Work for a request of a client before it reaches its model.

    Parameters
    ----------
    computing_ns, waiting_ns
        Time on a processor, and other time.
    beside_ns
        Time on a processor that does not make the request longer: a client computes
        after a response, too, and others wait for the processor.
    """

    computing_ns: int = 0
    waiting_ns: int = 0
    beside_ns: int = 0


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
    rate_limits
        Counts of the server's resources; None if it does not limit rates.
    in_turns
        Whether work has whole processors in turns, as processes have; else it shares
        them equally.
    busy_frontend
        Work for a request of a client while no processor is idle; None for the same.
    paces
        The speed of each processor over time, where work has whole processors; empty
        if it does not vary.

    Raises
    ------
    BlsnbError
        A model of an ensemble is missing.
    ResourceRefused
        An instance needs more resources than there are.
    """

    def __init__(
        self,
        models: Mapping[str, SimulatedModel],
        cores: float,
        seed: int = 0,
        frontend: Frontend = NO_FRONTEND,
        rate_limits: Given | None = None,
        in_turns: bool = False,
        busy_frontend: Frontend | None = None,
        paces: Sequence[Pace] = (),
    ) -> None:
        self.timeline = Timeline()
        self.cores: Processors = Cores(self.timeline, cores)
        if in_turns and cores == int(cores):
            self.cores = SlicedCores(self.timeline, int(cores), paces, seed)
        self._models = models
        self._frontends = frontend, busy_frontend or frontend
        self._random = random.Random(seed)
        # The executions do not depend on whether overheads are drawn.
        self._overheads = random.Random(f"overheads {seed}")
        self._admission = None if rate_limits is None else Admission(rate_limits)
        self._sequences = 0
        self.calls = 0
        """Number of requests, of clients and of models."""
        self.drawn: dict[str, Counter[int]] = {name: Counter() for name in models}
        """Number of executions by batch size, of each model."""
        self.stations = {
            name: self._station(name, model) for name, model in models.items()
        }

    def _station(self, name: str, model: SimulatedModel) -> Station:
        config = model.config

        def draw(size: int, at_once: bool = False) -> Behaviour:
            self.drawn[name][size] += 1
            drawing = model.draw_next if at_once and model.draw_next else model.draw
            return drawing(size, self._random)

        if config.is_ensemble:
            configs = {each: model.config for each, model in self._models.items()}
            return EnsembleStation(self, config, configs, draw)
        count = max(1, len(config.instance_names()))
        execute = self._executing(draw)
        limits = None if self._admission is None else self._admission.enter(config)
        if config.scheduling == "sequence_batching":
            return SequenceStation(self.timeline, execute, count, config, limits)
        if config.scheduling == "dynamic_batching":
            return BatchingStation(self.timeline, execute, count, config, limits)
        return DefaultStation(self.timeline, execute, count, limits)

    def _executing(self, draw: Callable[[int, bool], Behaviour]) -> Execute:
        def execute(
            requests: Sequence[SimulatedRequest], freed: Action, ended: Action
        ) -> None:
            size = 0
            for request in requests:
                size += request.size
            drawn = draw(size, requests[0].at_once)
            SimulatedExecution(self, requests, drawn.steps, freed, ended).advance()

        return execute

    def resource_uses(self) -> dict[Resource, float]:
        """Return the used share of each resource of a server that limits rates."""
        if self._admission is None:
            return {}
        span_ns = max(1, self.timeline.now_ns)
        held = [station.held_ns() for station in self.stations.values()]
        return {
            resource: sum(each.get(resource, 0) for each in held) / span_ns / count
            for resource, count in self._admission.limits.items()
            if count
        }

    def new_sequence(self) -> int:
        """Return a correlation id that no other sequence has."""
        self._sequences += 1
        return self._sequences

    def send(
        self,
        model: str,
        size: int,
        answered: Received,
        parent: SimulatedRequest | None = None,
        fields: RequestFields = PLAIN,
        responded: Received | None = None,
    ) -> SimulatedRequest:
        """Send a request now."""
        self.calls += 1
        request = SimulatedRequest(model, size, answered, parent, fields, responded)
        request.began_ns = self.timeline.now_ns
        if parent is None:
            self._enter(request)
        else:
            parent.children += (request,)
            self._receive(request)
        return request

    def _enter(self, request: SimulatedRequest) -> None:
        """Let the frontend work for a request of a client, then pass it on."""
        frontend = self._frontends[self.cores.are_busy]
        if frontend.beside_ns:
            request.answered = partial(self._answered, request.answered)
        if frontend.computing_ns:
            received = partial(self._receive, request)
            self.cores.compute(frontend.computing_ns, received)
        else:
            self._receive(request)

    def _answered(self, answered: Received, request: SimulatedRequest) -> None:
        """Give a client its response, and let it compute."""
        frontend = self._frontends[self.cores.are_busy]
        self.cores.compute(frontend.beside_ns, nothing)
        answered(request)

    def _receive(self, request: SimulatedRequest) -> None:
        """Pass a request on to its model, after what it takes outside of it."""
        model = self._models[request.model]
        overhead_ns = model.overhead_ns
        if model.overheads_ns:
            overhead_ns = self._overheads.choice(model.overheads_ns)
        if request.parent is None:
            overhead_ns += self._frontends[0].waiting_ns
        add = self.stations[request.model].add
        if overhead_ns:
            self.timeline.after(overhead_ns, partial(add, request))
        else:
            add(request)

    def run(self, arrivals_ns: Iterable[int], arrive: Callable[[], object]) -> None:
        """Call a function at each of some times, and run until nothing is left."""
        times = iter(arrivals_ns)

        def arrive_next() -> None:
            send_next()
            arrive()

        def send_next() -> None:
            ns = next(times, None)
            if ns is not None:
                self.timeline.at(ns, arrive_next)

        send_next()
        self.timeline.run()
