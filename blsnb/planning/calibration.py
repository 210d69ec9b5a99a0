"""How long each model works, what it calls, and how well that is known."""

from __future__ import annotations

import itertools
import random
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from blsnb.engine.scheduling.rate_limiter import Given
from blsnb.model.config import ModelConfig
from blsnb.planning.simulation.behaviour import Behaviour
from blsnb.planning.simulation.loads import Mix
from blsnb.planning.simulation.pace import Pace, Slowness, Varying
from blsnb.planning.simulation.simulation import (
    NO_FRONTEND,
    Draw,
    Frontend,
    SimulatedModel,
    Simulation,
)
from blsnb.printable import counted, in_columns, printable, rounded
from blsnb.views.format import time

HERE, TRITON = "here", "triton"
WORLDS = {
    HERE: "this kernel with its one interpreter lock",
    TRITON: "a process for each instance",
}
"""Worlds: one kernel with one interpreter lock; a process for each instance."""
_STATES = 1.2
"""Minimum ratio of two medians that are different states of a closed loop."""
_HEAD = ("model", "batch", "executions", "own work", "computing", "overhead")


@dataclass(frozen=True)
class CalibratedModel:
    """The observed executions of a model.

    Parameters
    ----------
    config
        Its configuration when it was observed.
    by_size
        Executions by batch size, at least one for each size.
    overhead_ns
        Median time of a request outside of queue and execution.
    overheads_ns
        These times as they were observed; empty if only the median is known.
    """

    config: ModelConfig
    by_size: Mapping[int, Sequence[Behaviour]]
    overhead_ns: int = 0
    overheads_ns: Sequence[int] = ()

    @cached_property
    def sizes(self) -> list[int]:
        """The observed batch sizes, ascending."""
        return sorted(self.by_size)

    @cached_property
    def _mean_ns(self) -> dict[int, float]:
        return {
            size: float(np.mean([each.own_ns for each in found]))
            for size, found in self.by_size.items()
        }

    def unmeasured(self, sizes: Iterable[int]) -> list[int]:
        """Return the batch sizes that do not lie between observed ones."""
        low, high = self.sizes[0], self.sizes[-1]
        return sorted(size for size in sizes if not low <= size <= high)

    def draw(self, size: int, chance: random.Random) -> Behaviour:
        """Return an observed execution of a batch size.

        Between two observed sizes, and beyond them, it is one of the nearest smaller
        size, longer in the ratio of the means.
        """
        if size in self.by_size:
            return chance.choice(self.by_size[size])
        near = self.sizes[max(0, bisect_left(self.sizes, size) - 1)]
        found = chance.choice(self.by_size[near])
        return found.scaled(self.mean_ns(size) / max(1.0, self._mean_ns[near]), size)

    def mean_ns(self, size: int) -> float:
        """Return the mean own work of a batch size, on a line through neighbours."""
        if size in self._mean_ns:
            return self._mean_ns[size]
        if len(self.sizes) == 1:
            return self._mean_ns[self.sizes[0]] * size / self.sizes[0]
        above = min(max(1, bisect_left(self.sizes, size)), len(self.sizes) - 1)
        low, high = self.sizes[above - 1], self.sizes[above]
        slope = (self._mean_ns[high] - self._mean_ns[low]) / (high - low)
        return max(1.0, self._mean_ns[low] + slope * (size - low))


def by_size(executions: Iterable[Behaviour]) -> dict[int, list[Behaviour]]:
    """Return executions by batch size."""
    found: dict[int, list[Behaviour]] = {}
    for each in executions:
        found.setdefault(each.size, []).append(each)
    return found


class Reproduction(NamedTuple):
    """A measurement that the calibration was made from, and its simulation.

    Parameters
    ----------
    clients
        Number of clients in a closed loop; 0 for requests that come at their times.
    measured_us, simulated_us
        Median latency.
    measured_rate, simulated_rate
        Requests per second.
    recorded
        Whether the requests were recorded.
    states_us
        Least and largest median latency of a closed loop whose clients begin at other
        times.
    """

    clients: int
    measured_us: float
    simulated_us: float
    measured_rate: float
    simulated_rate: float
    recorded: bool = False
    states_us: tuple[float, float] = (0.0, 0.0)

    @property
    def load(self) -> str:
        """The load in words."""
        if self.recorded:
            return "its recording"
        if self.clients:
            return counted(self.clients, "client")
        return f"{rounded(self.measured_rate)} requests/s"

    def __str__(self) -> str:
        low, high = map(time, self.states_us)
        states = (
            f" It is {low} or {high} by chance: the clients stay together, or in "
            "turns, as they began."
        )
        has_states = self.states_us[1] > _STATES * self.states_us[0]
        return (
            f"The calibration simulates {self.load} with a median of "
            f"{time(self.simulated_us)}; measured were {time(self.measured_us)} "
            f"({self.error:+.0%}).{states * has_states}"
        )

    @property
    def error(self) -> float:
        """Relative error of the median latency."""
        return self.simulated_us / self.measured_us - 1 if self.measured_us else 0.0


@dataclass(frozen=True, repr=False)
class Calibration:
    """What a simulation needs, as it was observed.

    Parameters
    ----------
    model_name
        The model that clients call.
    world
        ``"here"`` or ``"triton"``: observations of one are not valid in the other.
    models
        By name.
    cores
        Number of processors that computing work shares; in the world here less than
        that of the machine, as Python code excludes other Python code.
    reproductions
        How well it reproduces what it was made from.
    frontend
        Work for each request of a client outside of the models.
    remarks
        What was not measured, as sentences.
    mix
        The requests of clients: priorities, timeouts and sequences.
    rate_limits
        Counts of the server's resources; None if it does not limit rates.
    crowded
        What was observed of clients in a closed loop: each instance has its next
        request at once. Executions of other loads that begin so are taken from it, and
        the work of clients while no processor is idle. None if it was not observed.
    slowness
        That of the processors while all of it was observed; empty if it is not known.
    probe_ns
        How long the work of `SlownessMeter` took then; 0 if it is not known.
    """

    model_name: str
    world: str
    models: Mapping[str, CalibratedModel]
    cores: float
    reproductions: tuple[Reproduction, ...] = field(default=())
    frontend: Frontend = NO_FRONTEND
    remarks: tuple[str, ...] = ()
    mix: Mix = field(default=Mix())
    rate_limits: Given | None = None
    crowded: Calibration | None = None
    slowness: Slowness = ()
    probe_ns: float = 0.0

    @property
    def closed(self) -> Calibration:
        """The calibration for clients in a closed loop."""
        return self.crowded or self

    @property
    def error(self) -> float:
        """Largest relative error of a median that it was made from; NaN without one."""
        errors = [abs(each.error) for each in self.reproductions]
        return max(errors, default=float("nan"))

    def check(self, world: str, model_name: str) -> None:
        """Refuse to use the calibration for another world or another model.

        Raises
        ------
        ValueError
            It was made for another one.
        """
        if model_name != self.model_name:
            raise ValueError(
                f"the calibration is of {self.model_name!r}; expected one of "
                f"{model_name!r}"
            )
        if world != self.world:
            raise ValueError(
                f"the calibration is for target={self.world!r} ({WORLDS[self.world]}); "
                f"expected one for target={world!r} ({WORLDS[world]})"
            )

    def __repr__(self) -> str:
        names = ", ".join(self.models)
        return printable(
            f"<Calibration of {self.model_name} for {WORLDS[self.world]}: {names}>"
        )

    def __str__(self) -> str:
        lines = in_columns([_HEAD, *self._rows()])
        head = (
            f"{self.model_name}, observed for {WORLDS[self.world]} on "
            f"{self.cores:.3g} processors"
        )
        return "\n".join(map(printable, [head, *lines, *self.findings]))

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for name, model in self.models.items():
            for size in model.sizes:
                found = model.by_size[size]
                computing = np.mean([each.computing_ns for each in found]) / 1e3
                yield (
                    name,
                    str(size),
                    f"{len(found):,}",
                    time(model.mean_ns(size) / 1e3),
                    time(float(computing)),
                    time(model.overhead_ns / 1e3),
                )

    @property
    def findings(self) -> list[str]:
        """How well it reproduces what it was made from, and what it lacks."""
        frontend_us = sum(self.frontend[:2]) / 1e3
        texts = [f"Outside of the models a request takes {time(frontend_us)}."] * bool(
            frontend_us
        )
        return [*texts, *map(str, self.reproductions), *self.remarks]

    def _draw_next(self, name: str) -> Draw | None:
        """Return how executions are drawn that begin with the end of another one.

        A closed loop has other batches: for models with batches they are not known.
        """
        found = None if self.crowded is None else self.crowded.models[name]
        return found.draw if found and len(found.by_size) == 1 else None

    @cached_property
    def _varying(self) -> list[Varying]:
        return [Varying(each) for each in self.slowness]

    def _paces(self, count: int, seed: int, observed: Slowness) -> list[Pace]:
        """Return the processors; none if nothing is known of their slowness."""
        known = [Varying(each) for each in observed] or self._varying
        if not known:
            return []
        chance = random.Random(f"slowness {seed}")
        return [
            each if observed else each.beginning(chance.random())
            for each in itertools.islice(itertools.cycle(known), count)
        ]

    def simulation(
        self,
        configs: Mapping[str, ModelConfig] | None = None,
        cores: float | None = None,
        seed: int = 0,
        observed: Slowness = (),
    ) -> Simulation:
        """Return a new simulation.

        Parameters
        ----------
        configs
            Other configurations by name.
        cores
            Number of processors; None for that of the calibration.
        observed
            How slow the processors are, from the begin on; empty for processors that
            each begin somewhere in the slowness of the calibration.
        """
        changed, count = configs or {}, cores or self.cores
        models = {
            name: SimulatedModel(
                changed.get(name, model.config),
                model.draw,
                model.overhead_ns,
                model.overheads_ns,
                self._draw_next(name),
            )
            for name, model in self.models.items()
        }
        return Simulation(
            models,
            count,
            seed,
            self.frontend,
            self.rate_limits,
            in_turns=self.world == TRITON,
            paces=self._paces(int(count), seed, observed),
            busy_frontend=self.crowded.frontend if self.crowded else None,
        )
