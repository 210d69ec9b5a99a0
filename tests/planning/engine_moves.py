"""Moves of clients on a server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor

import numpy as np
import stage
from engine.clients import waiting
from waiting import until

from blsnb import InferenceError, Server

from .moved_clock import MovedClock
from .moves import AT_ONCE_NS, BETWEEN_NS, End, Move, Outcome, Send

X = {"X": np.zeros((1, 1), np.float32)}


class EngineMoves:
    """The moves on a server; each waits until all has happened that is expected.

    Parameters
    ----------
    pool
        The clients: a thread for each request.
    clock
        The server's.
    """

    def __init__(
        self, server: Server, moves: Sequence[Move], pool: Executor, clock: MovedClock
    ) -> None:
        self._server = server
        self._moves = moves
        self._pool = pool
        self._clock = clock

    def play(self, expected: Sequence[Outcome]) -> Iterator[Outcome]:
        """Yield what follows each move, up to the first that is not as expected.

        Parameters
        ----------
        expected
            What is expected to follow: what to wait for.
        """
        for number, each in enumerate(expected):
            self._advance(number)
            found = self._outcome(each)
            yield found
            if found != each:
                return

    def _advance(self, number: int) -> None:
        """Make a move, or let the time after it pass: each has its outcome."""
        number, passes = divmod(number, 2)
        begin_ns = number * BETWEEN_NS
        if passes:
            self._clock.move(begin_ns + BETWEEN_NS - AT_ONCE_NS)
            return
        self._clock.move(begin_ns)
        move = self._moves[number]
        if isinstance(move, Send):
            self._pool.submit(self._send, move)
        elif isinstance(move, End):
            _end(move)

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
    for model, names, execution in stage.values.get("executions", []):
        if model == move.model and move.name in names:
            parts = [stage.events[f"{execution}{part}"] for part in range(2)]
            for part in [each for each in parts if not each.is_set()][:1]:
                part.set()
