"""When a live view is sent, and when a notebook keeps it."""

import pytest

from blsnb.views.live.clocks import FlushClock, KeepClock

MS = 1_000_000


def flushed_clock(rows=10, whole=True):
    clock = FlushClock()
    clock.flushed(0, rows, whole)
    return clock


def test_the_first_event_is_sent_at_once():
    """A view appears with its first call."""
    assert FlushClock().due(123)


@pytest.mark.parametrize(("rows", "early", "late"), [(2000, 99, 100), (2001, 249, 250)])
def test_a_view_is_sent_ten_times_a_second_and_four_times_above_2000_rows(
    rows, early, late
):
    """The page receives no more than it can draw."""
    assert [False, True] == [flushed_clock(rows).due(ms * MS) for ms in (early, late)]


def test_a_view_that_is_slow_to_send_is_sent_seldom():
    """Sending takes at most a tenth of the time of a model that waits for it."""
    clock = FlushClock()
    clock.flushed(0, 9000, whole=True, took_ns=80 * MS)

    assert [False, True] == [clock.due(ms * MS) for ms in (799, 800)]


@pytest.mark.parametrize(
    ("sent", "rows", "whole"),
    [(10, 500, True), (400, 501, False), (400, 800, True), (5000, 9999, False)],
)
def test_small_traces_and_doubled_ones_are_sent_whole(sent, rows, whole):
    """A page that opens late catches up while the kernel is too busy to answer."""
    assert whole == flushed_clock(sent).whole(rows)


def test_only_whole_traces_count_for_doubling():
    """A page cannot catch up with what was sent in part."""
    clock = flushed_clock(600)
    clock.flushed(1, 1100, whole=False)

    assert clock.whole(1200)


def kept(looks_ms, shown=lambda ms: ms, took_ms=0):
    """Times in milliseconds at which a view was kept."""
    clock = KeepClock()
    times = []
    for ms in looks_ms:
        if clock.due(ms * MS, shown(ms)):
            clock.kept(ms * MS, shown(ms), took_ms * MS)
            times.append(ms)
    return times


def test_a_new_view_is_kept_at_once_and_then_less_and_less_often():
    """The pause grows from a second to a minute."""
    looks = range(0, 300_000, 500)

    assert [0, 1, 3, 7, 15, 31, 63, 123, 183, 243] == [ms // 1000 for ms in kept(looks)]


def test_a_view_that_does_not_change_is_kept_once():
    """A page draws again whatever it receives."""
    assert [0] == kept(range(0, 300_000, 500), shown=lambda _: "idle")


def test_a_view_that_changes_after_a_calm_is_kept_as_a_new_one():
    """A notebook that is saved a moment later has more than the beginning."""
    looks = [*range(0, 40_000, 500), *range(100_000, 104_000, 500)]

    assert [100_000, 101_000, 103_000] == kept(looks)[-3:]


@pytest.mark.parametrize(("took_ms", "next_ms"), [(10, 1000), (200, 4000)])
def test_a_view_that_is_slow_to_keep_is_kept_seldom(took_ms, next_ms):
    """Keeping takes at most a twentieth of the time."""
    assert [0, next_ms] == kept(range(0, 5000, 500), took_ms=took_ms)[:2]
