"""Specification of counting how many calls ran at once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from blsnb.views.pictures.concurrency import Step, merged, steps

calls = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=20)


def counted(found):
    start = np.array([at for at, _ in found], float)
    return steps(start, start + np.array([long for _, long in found], float))


@given(calls)
def test_at_every_moment_the_level_is_the_number_of_calls(found):
    """Counted exactly: at each half microsecond, as by hand."""
    result = counted(found)

    for moment in np.arange(0.5, 71):
        by_hand = sum(at < moment < at + long for at, long in found)
        level = next((s.level for s in result if s.start < moment < s.end), 0)
        assert by_hand == level


def test_consecutive_calls_do_not_overlap():
    """A call may start at the time at which another one ends."""
    assert [Step(0, 10, 1)] == counted([(0, 5), (5, 5)])


def test_without_calls_there_are_no_steps():
    """Nothing ran."""
    assert [] == counted([])


@given(calls, st.integers(1, 8))
def test_merging_keeps_the_highest_level_and_the_ends(found, most):
    """A strip of few pieces has the same peak, start and end."""
    result = counted(found)
    pieces = merged(result, most)

    assert len(pieces) <= max(most, 0)
    if result:
        assert max(s.level for s in result) == max(s.level for s in pieces)
        assert result[0].start == pieces[0].start
        assert abs(result[-1].end - pieces[-1].end) < 1e-6
