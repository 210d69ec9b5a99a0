"""The cheapest configuration that holds: many are judged roughly, few exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from blsnb.planning.judgement import Judgement
from blsnb.planning.options import Option

REQUESTS = (300, 3_000, 20_000)
"""Numbers of simulated requests at the highest rate, step by step."""
_OTHER_REQUESTS = 20_000
"""Number of requests at all other rates together, in the last step."""
_MIN_OTHER_REQUESTS = 1_000
"""Minimum number of requests at each other rate."""
FINALISTS = 3
"""Number of options that are judged exactly."""
_MAX_WORK = 2
"""Maximum number of simulated requests, as a multiple of the expected number."""
_LENIENT = (1.5, 1.1, 1.0)
"""Factor of the limit up to which an option may still hold in the next step."""

Judge = Callable[[Option, float, int], Judgement]
"""Simulates an option at a rate with a number of requests."""


class Judged(NamedTuple):
    """An option, and what its last step said of it.

    Parameters
    ----------
    judgement
        Of the rate at which it is slowest.
    at
        Of each simulated rate, ascending.
    requests
        Number of requests at the highest rate.
    """

    option: Option
    judgement: Judgement
    at: tuple[Judgement, ...]
    requests: int

    @property
    def at_most(self) -> Judgement:
        """The judgement of the highest rate."""
        return self.at[-1]

    @property
    def is_final(self) -> bool:
        """Whether it was judged exactly."""
        return self.requests == REQUESTS[-1]

    def holds(self, p99_us: float, factor: float = 1.0) -> bool:
        """Whether all rates are held within a limit of the latency."""
        limit_us = p99_us * factor
        return all(each.is_held and each.p99_us <= limit_us for each in self.at)


def search(
    options: Sequence[Option],
    judge: Judge,
    rates: Sequence[float],
    p99_us: float,
    progress: Callable[[float], None] = lambda share: None,
) -> list[Judged]:
    """Return all options, the best first.

    An option is better if it holds; then if it has fewer instances; then if it is
    faster. All are judged roughly. Then the best ones are judged again with more
    requests, until the best ones are judged exactly.

    Parameters
    ----------
    judge
        Simulates an option at a rate.
    rates
        Requests per second, ascending.
    p99_us
        Limit of the latency.
    progress
        Called with the completed share of the simulated requests.
    """
    return _Search(judge, tuple(rates), p99_us, progress).run(options)


class _Search:
    """A search: its limits, and how much it has simulated."""

    def __init__(
        self,
        judge: Judge,
        rates: tuple[float, ...],
        p99_us: float,
        progress: Callable[[float], None],
    ) -> None:
        self._judge = judge
        self._rates = rates
        self._p99_us = p99_us
        self._progress = progress
        self._done = self._expected = 0

    def run(self, options: Sequence[Option]) -> list[Judged]:
        count = min(FINALISTS, len(options))
        later = sum(self._requests(step) for step in range(1, len(REQUESTS)))
        self._expected = len(options) * self._requests(0) + count * later
        judged = [self._judged(option, 0) for option in options]
        while True:
            judged.sort(key=self._rank)
            best = judged[:FINALISTS]
            is_done = self._done >= _MAX_WORK * self._expected
            if is_done or all(each.is_final for each in best):
                break
            judged[:FINALISTS] = map(self._refined, best)
        if not any(each.is_final for each in judged):
            judged[0] = self._judged(judged[0].option, len(REQUESTS) - 1)
        self._progress(1.0)
        return sorted(judged, key=lambda each: (not each.is_final, *self._rank(each)))

    def _refined(self, judged: Judged) -> Judged:
        """Judge an option with the requests of the next step, if there is one."""
        if judged.is_final:
            return judged
        return self._judged(judged.option, REQUESTS.index(judged.requests) + 1)

    def _plan(self, step: int) -> dict[float, int]:
        """Return the number of requests of a step, by rate."""
        highest, others = self._rates[-1], self._rates[:-1]
        if step == 0:
            others = ()
        elif step == 1:
            others = others[:1]
        each = REQUESTS[step]
        if step == len(REQUESTS) - 1 and others:
            each = max(_MIN_OTHER_REQUESTS, _OTHER_REQUESTS // len(others))
        return {**dict.fromkeys(others, each), highest: REQUESTS[step]}

    def _requests(self, step: int) -> int:
        return sum(self._plan(step).values())

    def _judged(self, option: Option, step: int) -> Judged:
        found = []
        for rate, requests in self._plan(step).items():
            found.append(self._judge(option, rate, requests))
            self._done += requests
            self._progress(min(1.0, self._done / self._expected))
        slowest = max(found, key=lambda each: (not each.is_held, each.p99_us))
        return Judged(option, slowest, tuple(found), REQUESTS[step])

    def _rank(self, judged: Judged) -> tuple[int, float, float]:
        """Return the order of an option: held, then too slow, then not held."""
        latency_us = judged.judgement.p99_us
        factor = _LENIENT[REQUESTS.index(judged.requests)]
        if judged.holds(self._p99_us, factor):
            return 0, judged.option.cost, latency_us
        if judged.judgement.is_held:
            return 1, latency_us, judged.option.cost
        return 2, -judged.judgement.answered_rate, judged.option.cost
