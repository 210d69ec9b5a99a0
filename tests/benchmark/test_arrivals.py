"""When an open loop sends requests."""

from __future__ import annotations

import re

import numpy as np
import pytest

from blsnb.benchmark.arrivals import open_levels
from blsnb.benchmark.level import Load

MS = 1_000_000
SECOND = Load(1.0, 1000)
RATES = "is not valid; expected requests per second, more than 0 and at most 100,000"
EQUAL = (
    "arrivals has no two different times in the duration; expected seconds, such as "
    "[0.0, 0.2, 0.25]"
)


def test_constant_arrivals_are_even():
    """The first request is at the start, and the level includes the last interval."""
    [level] = open_levels([4], "constant", SECOND, 0)

    assert [0, 250 * MS, 500 * MS, 750 * MS] == level.times_ns
    assert (4.0, 1.0) == (level.rate, level.window_s)


def test_random_arrivals_have_the_rate_exactly():
    """Their intervals are those of a Poisson process; a seed repeats them."""
    load = Load(100.0, 1_000_000)
    one, again, other = (
        open_levels([200], "poisson", load, seed)[0].times_ns for seed in (1, 1, 2)
    )
    intervals = np.diff(one) / 1e9

    assert 20_000 == len(one)
    assert one == sorted(one)
    assert one == again != other
    # An exponential distribution's deviation is its mean.
    assert 0.005 == pytest.approx(intervals.mean(), rel=0.01)
    assert 0.005 == pytest.approx(intervals.std(), rel=0.05)


def test_the_number_of_requests_shortens_a_level():
    """The rate stays."""
    [level] = open_levels([100], "constant", Load(10.0, 50), 0)

    assert (50, 0.5) == (len(level.times_ns), level.window_s)


def test_recorded_arrivals_begin_at_once_and_keep_their_distances():
    """They are sorted, and end with the duration."""
    [level] = open_levels(None, [7.5, 7.0, 8.0, 8.001], SECOND, 0)

    assert [0, 500 * MS, 1000 * MS] == level.times_ns
    assert (2.0, 1.5) == (level.rate, level.window_s)


def test_without_a_rate_the_loop_is_closed():
    """The kind of arrivals alone opens none."""
    assert open_levels(None, "poisson", SECOND, 0) is None


@pytest.mark.parametrize(
    ("rate", "arrivals", "text"),
    [
        ([0], "poisson", f"rate=0 {RATES}"),
        ([], "poisson", f"rate=[] {RATES}"),
        ([float("nan")], "poisson", f"rate=nan {RATES}"),
        ([100_000.5], "constant", f"rate=100000.5 {RATES}"),
        (
            [1],
            "even",
            "arrivals='even' is not valid; expected 'poisson', 'constant' or a list of "
            "seconds",
        ),
        (None, [], EQUAL),
        (None, [1.0], EQUAL),
        (None, [1.0, 1.0], EQUAL),
        (None, [1.0, 5.0], EQUAL),
        (None, [1.0, float("nan")], EQUAL),
    ],
)
def test_invalid_loads_are_refused(rate, arrivals, text):
    """The text has the value and what was expected."""
    with pytest.raises(ValueError, match=r".") as refused:
        open_levels(rate, arrivals, SECOND, 0)
    assert text == str(refused.value)


def test_the_largest_rate_is_valid():
    """A level has one request at least."""
    [most] = open_levels(100_000, "constant", Load(0.001, 1000), 0)
    [least] = open_levels([0.5], "constant", SECOND, 0)

    assert (100_000.0, 100) == (most.rate, len(most.times_ns))
    assert ([0], 2.0) == (least.times_ns, least.window_s)


@pytest.mark.parametrize("rate", [["50"], [True], [None]])
def test_a_rate_of_another_type_is_refused(rate):
    """The text names the type."""
    text = rf"^rate={rate[0]!r} is not valid; expected numbers of requests per second$"
    with pytest.raises(TypeError, match=text):
        open_levels(rate, "poisson", SECOND, 0)


def test_arrivals_of_another_type_are_refused():
    """A number is neither a kind nor a list."""
    for arrivals in (5, [True], ["1"]):
        text = f"arrivals={arrivals!r} is not valid; expected a list of seconds"
        with pytest.raises(TypeError, match=f"^{re.escape(text)}$"):
            open_levels(None, arrivals, SECOND, 0)
