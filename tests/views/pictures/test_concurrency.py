"""Specification of counting how many calls ran at once."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blsnb.views.pictures.concurrency import ConcurrencyStep, merged, periods

calls = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=20)


def times_of(found):
    start = np.array([at for at, _ in found], float)
    return start, start + np.array([long for _, long in found], float)


def counted(found):
    return merged(*times_of(found), sys.maxsize)


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
    assert [ConcurrencyStep(0, 10, 1)] == counted([(0, 5), (5, 5)])


def test_without_calls_there_are_no_steps():
    """Nothing ran."""
    assert [] == counted([])


@given(calls, st.integers(1, 8))
def test_merging_keeps_the_highest_level_and_the_ends(found, most):
    """A strip of few pieces has the same peak, start and end."""
    result = counted(found)
    pieces = merged(*times_of(found), most)

    assert len(pieces) <= max(most, 0)
    if result:
        assert max(s.level for s in result) == max(s.level for s in pieces)
        assert result[0].start == pieces[0].start
        assert abs(result[-1].end - pieces[-1].end) < 1e-6


@given(calls, st.integers(1, 8))
def test_a_piece_has_the_highest_level_of_its_part(found, most):
    """Each period counts in all parts that it touches."""
    result = counted(found)
    for piece in merged(*times_of(found), most):
        within = [s.level for s in result if s.start < piece.end > piece.start < s.end]
        assert piece.level >= max(within, default=0)


@given(calls)
def test_periods_are_steps_without_their_levels(found):
    """They end where no call runs."""
    expected = []
    for step in counted(found):
        if expected and expected[-1][1] == step.start:
            expected[-1] = expected[-1][0], step.end
        else:
            expected.append((step.start, step.end))

    assert expected == periods(*times_of(found))


def test_many_calls_are_merged_without_a_step_for_each():
    """The picture of a long run takes as many steps as it has pieces."""
    start = np.arange(10_000.0)
    made = []
    sys.setprofile(lambda frame, event, _: event == "call" and made.append(frame))
    try:
        pieces = merged(start, start + 0.5, 20)
    finally:
        sys.setprofile(None)

    assert 1 == len(pieces)
    assert 1000 > len(made)


@pytest.mark.parametrize(
    ("most", "steps"),
    [
        (4, [(0, 1, 1), (2, 9, 1), (9, 10, 2), (10, 12, 1)]),
        (3, [(0, 8, 1), (8, 12, 2)]),
        (2, [(0, 6, 1), (6, 12, 2)]),
        (1, [(0, 12, 2)]),
    ],
)
def test_only_steps_that_are_too_many_become_pieces_of_equal_length(most, steps):
    """A step counts in each piece that it touches, and equal neighbours are one."""
    found = merged(*times_of([(0, 1), (2, 8), (9, 3)]), most)

    assert [ConcurrencyStep(*each) for each in steps] == found
