"""When the requests of an open loop are sent: evenly, at random, or as recorded."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from blsnb.arguments import plain, refuse, several
from blsnb.benchmark.level import Load

CONSTANT, POISSON, RECORDED = "constant", "poisson", "recorded"
_MAX_RATE = 100_000
"""Maximum number of requests per second."""


class Arrivals(NamedTuple):
    """The intended times of the requests of one level.

    Parameters
    ----------
    rate
        Requests per second.
    times_ns
        Nanoseconds from the start of the level, ascending.
    window_s
        Seconds of the level.
    """

    rate: float
    times_ns: list[int]
    window_s: float


def arrivals_at(kind: str, rate: float, count: int, seed: int) -> Arrivals:
    """Return the times of a number of requests at a rate.

    A Poisson process has as many requests as an even one: given their number, its
    times are independent and uniform. So the rate is exact.

    Parameters
    ----------
    kind
        ``"poisson"`` or ``"constant"``.
    """
    window_s = count / rate
    if kind == CONSTANT:
        shares = np.arange(count) / count
    else:
        shares = np.sort(np.random.default_rng(seed).random(count))
    return Arrivals(rate, (shares * window_s * 1e9).astype(np.int64).tolist(), window_s)


def recorded_arrivals(times_s: Iterable[float], load: Load) -> Arrivals:
    """Return recorded times, from the first of them on, within the limits of a level.

    Raises
    ------
    ValueError
        There are fewer than two times, or all are equal.
    """
    times = np.sort(np.fromiter(times_s, np.float64)[: load.requests])
    times = times[times - times[:1] <= load.duration_s]
    span_s = float(times[-1] - times[0]) if len(times) else 0.0
    if not span_s > 0 or not np.isfinite(span_s):
        raise ValueError(
            "arrivals has no two different times in the duration; expected seconds, "
            "such as [0.0, 0.2, 0.25]"
        )
    # The last request also takes a mean interval.
    window_s = span_s * len(times) / (len(times) - 1)
    offsets = ((times - times[0]) * 1e9).astype(np.int64).tolist()
    return Arrivals(len(times) / window_s, offsets, window_s)


def open_levels(
    rate: float | Iterable[float] | None, arrivals: Any, load: Load, seed: int
) -> list[Arrivals] | None:
    """Return the levels of an open loop; None for a closed one.

    Raises
    ------
    InputError
        An argument has a wrong type.
    ValueError
        A rate is out of range, or the kind of arrivals is unknown.
    """
    if not isinstance(arrivals, str):
        is_list = isinstance(arrivals, Iterable)
        times: list[Any] = several(arrivals) if is_list else [None]
        for each in times:
            if isinstance(each, bool) or not isinstance(each, Real):
                refuse("arrivals", plain(arrivals), "a list of seconds")
        return [recorded_arrivals(times, load)]
    if arrivals not in (CONSTANT, POISSON):
        raise ValueError(
            f"arrivals={arrivals!r} is not valid; expected {POISSON!r}, {CONSTANT!r} "
            "or a list of seconds"
        )
    if rate is None:
        return None
    rates = several(rate)
    for each in rates or (0,):
        if isinstance(each, bool) or not isinstance(each, Real):
            refuse("rate", each, "numbers of requests per second")
        if not 0 < each <= _MAX_RATE:  # type: ignore[operator]
            raise ValueError(
                f"rate={each if rates else rates!r} is not valid; expected requests "
                f"per second, more than 0 and at most {_MAX_RATE:,}"
            )
    return [arrivals_at(arrivals, float(r), load.count(r), seed) for r in rates]
