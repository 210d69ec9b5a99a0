"""Sides: the servers of a comparison, each started when it is first asked for."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np

from benchmarks.repository import Repository
from benchmarks.rounds import medians
from benchmarks.side import Ours, Real, Side
from blsnb.parity.triton.environment import installed

TIMESTAMPS, TENSORS, TRITON = "timestamps", "tensors", "triton"
Started = TypeVar("Started", bound=Side)
Question = tuple[str, dict[str, int | str]]
Reading = Callable[[dict[str, np.ndarray]], Iterable[float]]


class Sides:
    """Ours, at two levels of the trace, and the real server where it can run."""

    def __init__(self) -> None:
        self.repository = Repository()
        self.env = installed()
        self._started: list[Side] = []

    @functools.cached_property
    def timestamps(self) -> Side:
        """Ours, keeping no values."""
        return self._start(Ours(self.repository, TIMESTAMPS))

    @functools.cached_property
    def tensors(self) -> Side:
        """Ours, keeping the values of tensors."""
        return self._start(Ours(self.repository, TENSORS))

    @functools.cached_property
    def triton(self) -> Real | None:
        """The real server; None where it cannot run."""
        return (
            None if self.env is None else self._start(Real(self.repository, self.env))
        )

    def _start(self, side: Started) -> Started:
        self._started.append(side)
        return side

    def compare(
        self,
        questions: dict[str, Question],
        rounds: int,
        levels: tuple[str, ...] = (TIMESTAMPS,),
        reading: Reading = lambda answer: answer["NANOSECONDS"],
    ) -> dict[tuple[str, str], float]:
        """Return the median answer of each side to each question, in µs.

        Parameters
        ----------
        questions
            By a name for each: the model, and what it is asked.
        reading
            Takes the numbers out of an answer.
        """
        names = [*levels, *([TRITON] if self.env else [])]
        found = medians(
            {
                (question, name): functools.partial(
                    lambda side, asked: reading(side.ask(asked[0], **asked[1])),
                    getattr(self, name),
                    asked,
                )
                for question, asked in questions.items()
                for name in names
            },
            rounds,
        )
        return {key: value / 1000 for key, value in found.items()}

    def close(self) -> None:
        """Stop all servers."""
        for side in self._started:
            side.close()
        self.repository.close()
