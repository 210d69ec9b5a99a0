"""The cheapest configuration that holds: many are judged roughly, few exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from blsnb.planning.judgement import Judgement
from blsnb.planning.options import Option

ROUNDS = (300, 3_000, 20_000)
"""Numbers of simulated requests for each option, round by round."""
_KEPT = (0.1, 0.1)
"""Share of the options that a round keeps."""
_MIN_KEPT = (12, 4)
_LENIENT = (1.5, 1.1)
"""Factor of the limit up to which an option may still hold in the next round."""

Judge = Callable[[Option, int], Judgement]
"""Simulates an option with a number of requests."""


class Judged(NamedTuple):
    """An option, and what the last round said of it."""

    option: Option
    judgement: Judgement
    requests: int

    def holds(self, p99_us: float, factor: float = 1.0) -> bool:
        """Whether the rate is held within a limit of the latency."""
        judgement = self.judgement
        return judgement.is_held and judgement.p99_us <= p99_us * factor


def search(
    options: Sequence[Option],
    judge: Judge,
    p99_us: float,
    progress: Callable[[float], None] = lambda share: None,
) -> list[Judged]:
    """Return all options, the best first.

    An option is better if it holds; then if it has fewer instances; then if it is
    faster. Those that a round does not keep are behind those that it keeps.

    Parameters
    ----------
    judge
        Simulates an option.
    p99_us
        Limit of the latency.
    progress
        Called with the completed share of the simulated requests.
    """
    counts = [len(options)]
    for share, least in zip(_KEPT, _MIN_KEPT, strict=True):
        counts.append(min(counts[-1], max(least, round(share * counts[-1]))))
    whole = sum(c * r for c, r in zip(counts, ROUNDS, strict=True))
    done = 0
    left, behind = list(options), list[Judged]()
    for number, requests in enumerate(ROUNDS):
        judged = []
        for option in left:
            judged.append(Judged(option, judge(option, requests), requests))
            done += requests
            progress(done / whole)
        factor = (*_LENIENT, 1.0)[number]
        judged.sort(key=lambda each: _rank(each, p99_us, factor))
        kept = (*counts[1:], 0)[number]
        left = [each.option for each in judged[:kept]]
        behind = [*judged[kept:], *behind]
    return behind


def _rank(judged: Judged, p99_us: float, factor: float) -> tuple[bool, float, float]:
    holds = judged.holds(p99_us, factor)
    latency_us = judged.judgement.p99_us
    return (not holds, judged.option.cost if holds else latency_us, latency_us)
