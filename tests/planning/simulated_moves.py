"""Moves of clients in a simulation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from blsnb.engine.scheduling.rate_limiter import Given
from blsnb.model.config import ModelConfig
from blsnb.planning.simulation.behaviour import Behaviour, Step
from blsnb.planning.simulation.simulation import SimulatedModel, Simulation
from blsnb.planning.simulation.station import SimulatedRequest

from .moves import AT_ONCE_NS, BETWEEN_NS, End, Happened, Move, Outcome, Send


class SimulatedMoves:
    """The moves in a simulation.

    Parameters
    ----------
    configs
        The models by name.
    rate_limits
        Counts of the server's resources; None if it does not limit rates.
    """

    def __init__(
        self,
        configs: Mapping[str, ModelConfig],
        moves: Sequence[Move],
        rate_limits: Given | None,
    ) -> None:
        self._moves = moves
        self._configs = configs
        self._requests: dict[str, SimulatedRequest] = {}
        self._executed: set[SimulatedRequest] = set()
        self._happened: list[Happened] = []
        self._outcomes: list[Outcome] = []
        # The overhead lets a request be known before it is executed.
        models = {
            name: SimulatedModel(config, partial(self._drawn, name), overhead_ns=1)
            for name, config in configs.items()
        }
        self._simulation = Simulation(models, 8, rate_limits=rate_limits)

    def play(self) -> list[Outcome]:
        """Return what follows each move."""
        timeline = self._simulation.timeline
        for number, move in enumerate(self._moves):
            begin_ns = number * BETWEEN_NS
            if isinstance(move, Send):
                timeline.at(begin_ns, partial(self._send, move))
            timeline.at(begin_ns + AT_ONCE_NS, self._look)
            timeline.at(begin_ns + BETWEEN_NS - AT_ONCE_NS, self._look)
        timeline.run()
        return self._outcomes

    def _send(self, move: Send) -> None:
        name = move.name
        self._requests[name] = self._simulation.send(
            move.model,
            1,
            lambda request: self._happened.append(("ends", name, request.error)),
            None,
            move.fields,
            lambda _: self._happened.append(("responds", name)),
        )

    def _look(self) -> None:
        self._outcomes.append(Outcome(sorted(self._happened, key=str), self._waiting()))
        self._happened.clear()

    def _waiting(self) -> int:
        return sum(
            request.queued_ns > 0 and not request.batch and not request.ended_ns
            for _, request in self._all()
        )

    def _all(self) -> Iterator[tuple[str, SimulatedRequest]]:
        """Yield the requests with the name of their client's request."""
        for name, request in self._requests.items():
            yield name, request
            yield from ((name, child) for child in request.children)

    def _drawn(self, model: str, size: int, _: object) -> Behaviour:
        if self._configs[model].is_ensemble:
            return Behaviour(size, (Step((), 0),))
        found = {
            request: name
            for name, request in self._all()
            if request.model == model and request.batch
        }
        began = {each: found[each] for each in found.keys() - self._executed}
        self._executed.update(began)
        names = sorted(began.values())
        instance = next(iter(began)).instance
        self._happened.append(("starts", model, instance, *names))
        return Behaviour(size, tuple(self._steps(model, names)))

    def _steps(self, model: str, names: Iterable[str]) -> Iterator[Step]:
        """Yield the parts of an execution up to the moves that end them."""
        begin_ns = self._simulation.timeline.now_ns
        message = self._configs[model].message
        streams = message.model_transaction_policy.decoupled
        parts = [
            number * BETWEEN_NS
            for number, move in enumerate(self._moves)
            if isinstance(move, End) and move.model == model and move.name in names
        ]
        later = [end_ns for end_ns in parts if end_ns > begin_ns][: 1 + streams]
        assert later, f"no move ends the execution of {names} by {model}"
        for end_ns in later:
            wait_ns, begin_ns = end_ns - begin_ns, end_ns
            yield Step((), 0, wait_ns, sends=int(streams), returns=streams)
