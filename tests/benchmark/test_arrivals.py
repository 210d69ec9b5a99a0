"""When an open loop sends requests."""

from __future__ import annotations

import numpy as np
import pytest

from blsnb.benchmark.arrivals import open_levels
from blsnb.benchmark.level import Load

MS = 1_000_000
SECOND = Load(1.0, 1000)


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
    [level] = open_levels(None, [7.5, 7.0, 7.25, 9.0], SECOND, 0)

    assert [0, 250 * MS, 500 * MS] == level.times_ns
    assert (4.0, 0.75) == (level.rate, level.window_s)


def test_without_a_rate_the_loop_is_closed():
    """The kind of arrivals alone opens none."""
    assert open_levels(None, "poisson", SECOND, 0) is None


@pytest.mark.parametrize(
    ("rate", "arrivals", "text"),
    [
        ([0], "poisson", "rate=0 is not valid; expected requests per second"),
        ([], "poisson", r"rate=\[\] is not valid"),
        ([float("nan")], "poisson", "rate=nan is not valid"),
        ([1e6], "constant", "rate=1000000.0 is not valid"),
        ([1], "even", "arrivals='even' is not valid; expected 'poisson', 'constant'"),
        (None, [1.0], "no two different times"),
        (None, [1.0, 1.0], "no two different times"),
        (None, [1.0, 5.0], "no two different times"),
    ],
)
def test_invalid_loads_are_refused(rate, arrivals, text):
    """The text has the value and what was expected."""
    with pytest.raises(ValueError, match=text):
        open_levels(rate, arrivals, SECOND, 0)


@pytest.mark.parametrize("rate", [["50"], [True], [None]])
def test_a_rate_of_another_type_is_refused(rate):
    """The text names the type."""
    with pytest.raises(TypeError, match="rate"):
        open_levels(rate, "poisson", SECOND, 0)


def test_arrivals_of_another_type_are_refused():
    """A number is neither a kind nor a list."""
    with pytest.raises(TypeError, match="expected a list of seconds"):
        open_levels(None, 5, SECOND, 0)
