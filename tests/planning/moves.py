"""The same moves of clients on the engine and in a simulation.

A move sends a request or ends a part of an execution. No model ends by itself, so that
what follows a move does not depend on the speed of the machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import NamedTuple

import numpy as np
import stage
from cells import FINAL, cell
from engine.clients import waiting
from waiting import until

from blsnb import InferenceError, Server
from blsnb.engine.scheduling.rate_limiter import Given
from blsnb.model.config import ModelConfig
from blsnb.planning.simulation.behaviour import Behaviour, Step
from blsnb.planning.simulation.simulation import SimulatedModel, Simulation
from blsnb.planning.simulation.station import SimulatedRequest
from blsnb.request_fields import PLAIN, RequestFields

SECOND = 1_000_000_000
TENSORS = """
input { name: "X" data_type: TYPE_FP32 dims: [ 1 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ 1 ] }
"""
X = {"X": np.zeros((1, 1), np.float32)}
_METHODS = """
def initialize(self, args):
    self.name = args["model_name"]
    self.instance = int(args["model_instance_name"].rpartition("_")[2])

def starts(self, requests):
    # A slot without a request has one without an id.
    names = sorted(each.request_id() for each in requests if each.request_id())
    stage.values.setdefault("executions", []).append((self.name, names))
    stage.seen.append(("starts", self.name, self.instance, *names))
    return f"{self.name} {names[0]} "

"""
HELD = cell(
    """
    stage.sleep(self.starts(requests) + "0")
    return [reply(x_of(each)) for each in requests]
    """,
    methods=_METHODS,
)
STREAM = cell(
    """
    part = self.starts(requests)
    stage.sleep(part + "0")
    request.get_response_sender().send(reply(x_of(request)))
    threading.Thread(target=self.finish, args=(part, request)).start()
    """,
    methods=f"""{_METHODS}
def finish(self, part, request):
    stage.sleep(part + "1")
    request.get_response_sender().send(reply(x_of(request)))
    request.get_response_sender().send(flags={FINAL})

""",
)
"""A stream of two responses, one of each part; its instance is free after the first."""

Happened = tuple[object, ...]
"""What happened, such as ``("starts", "m", 0, "a", "b")``: the model, the number of its
instance and the names of the requests."""


class Send(NamedTuple):
    """A client sends a request."""

    name: str
    model: str = "m"
    fields: RequestFields = PLAIN


class End(NamedTuple):
    """An execution, or a part of it, ends; nothing if none of the request runs."""

    name: str
    model: str = "m"


Move = Send | End


class Outcome(NamedTuple):
    """What followed a move, sorted, and how many requests wait after it."""

    happened: list[Happened]
    waiting: int


class SimulatedMoves:
    """The moves in a simulation, one each second.

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
            if isinstance(move, Send):
                timeline.at(number * SECOND, partial(self._send, move))
            timeline.at(number * SECOND + SECOND // 2, self._look)
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
            number * SECOND
            for number, move in enumerate(self._moves)
            if isinstance(move, End) and move.model == model and move.name in names
        ]
        later = [end_ns for end_ns in parts if end_ns > begin_ns][: 1 + streams]
        assert later, f"no move ends the execution of {names} by {model}"
        for end_ns in later:
            wait_ns, begin_ns = end_ns - begin_ns, end_ns
            yield Step((), 0, wait_ns, sends=int(streams), returns=streams)


class EngineMoves:
    """The moves on a server; each waits until all has happened that is expected.

    Parameters
    ----------
    pool
        The clients: a thread for each request.
    """

    def __init__(self, server: Server, moves: Sequence[Move], pool: Executor) -> None:
        self._server = server
        self._moves = moves
        self._pool = pool

    def play(self, expected: Sequence[Outcome]) -> Iterator[Outcome]:
        """Yield what follows each move, up to the first that is not as expected.

        Parameters
        ----------
        expected
            What is expected to follow: what to wait for.
        """
        for move, each in zip(self._moves, expected, strict=True):
            if isinstance(move, Send):
                self._pool.submit(self._send, move)
            else:
                _end(move)
            found = self._outcome(each)
            yield found
            if found != each:
                return

    def _outcome(self, expected: Outcome) -> Outcome:
        until(lambda: self._seen() == expected, tick_s=0.001)
        found = self._seen()
        del stage.seen[: len(found.happened)]
        return found

    def _seen(self) -> Outcome:
        return Outcome(sorted(stage.seen, key=str), waiting(self._server))

    def _send(self, move: Send) -> None:
        options = move.fields._replace(request_id=move.name).options
        error = ""
        try:
            # The only response of a model without a stream is its end.
            for response in self._server.stream(move.model, X, **options):
                error = response.error or ""
                if not response.final:
                    stage.seen.append(("responds", move.name))
        except InferenceError as raised:
            error = raised.message
        # Simulated requests have no ids.
        error = error.replace(f"[request id: {move.name}] ", "")
        stage.seen.append(("ends", move.name, error))


def _end(move: End) -> None:
    """End a part of the execution that a request belongs to, if it has begun."""
    for model, names in stage.values.get("executions", []):
        if model == move.model and move.name in names:
            parts = [stage.events[f"{model} {names[0]} {part}"] for part in range(2)]
            for part in [each for each in parts if not each.is_set()][:1]:
                part.set()
