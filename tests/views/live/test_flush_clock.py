"""Specification of when a live view is told of what happened."""

import pytest

from blsnb.views.live.flush_clock import FlushClock

MS = 1_000_000


def clock(rows=10, whole=True):
    flushed = FlushClock()
    flushed.flushed(0, rows, whole)
    return flushed


def test_the_first_event_is_sent_at_once():
    """A view appears with its first call."""
    assert FlushClock().due(123)


@pytest.mark.parametrize(("rows", "early", "late"), [(2000, 99, 100), (2001, 249, 250)])
def test_ten_times_a_second_up_to_two_thousand_rows_four_times_beyond(
    rows, early, late
):
    """The page is never asked for more than it can draw."""
    assert [False, True] == [clock(rows).due(ms * MS) for ms in (early, late)]


def test_what_takes_long_to_tell_is_told_seldom():
    """A model that waits for its picture would be slowed down by being watched."""
    flushed = FlushClock()
    flushed.flushed(0, 9000, whole=True, took_ns=80 * MS)

    assert [False, True] == [flushed.due(ms * MS) for ms in (799, 800)]


@pytest.mark.parametrize(
    ("sent", "rows", "whole"),
    [(10, 500, True), (400, 501, False), (400, 800, True), (5000, 9999, False)],
)
def test_small_traces_and_doubled_ones_are_sent_whole(sent, rows, whole):
    """A page that came late catches up although the kernel is too busy to be asked."""
    assert whole == clock(sent).whole(rows)


def test_parts_do_not_count_as_whole():
    """Only what was sent whole can be caught up with."""
    flushed = clock(600)
    flushed.flushed(1, 1100, whole=False)

    assert flushed.whole(1200)
