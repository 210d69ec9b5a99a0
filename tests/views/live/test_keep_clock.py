"""Specification of when a notebook is given what it keeps of a live view."""

import pytest

from blsnb.views.live.keep_clock import KeepClock

MS = 1_000_000


def kept(looks_ms, shown=lambda ms: ms, took_ms=0):
    """When it was kept, in milliseconds, of these looks."""
    clock = KeepClock()
    times = []
    for ms in looks_ms:
        if clock.due(ms * MS, shown(ms)):
            clock.kept(ms * MS, shown(ms), took_ms * MS)
            times.append(ms)
    return times


def test_what_is_new_is_kept_at_once_and_then_ever_more_seldom():
    """Seconds at first, a minute at last."""
    looks = range(0, 300_000, 500)

    assert [0, 1, 3, 7, 15, 31, 63, 123, 183, 243] == [ms // 1000 for ms in kept(looks)]


def test_what_stays_as_it_is_is_kept_once():
    """A page redraws what it is given."""
    assert [0] == kept(range(0, 300_000, 500), shown=lambda _: "idle")


def test_what_begins_after_a_calm_is_kept_as_if_it_were_the_first():
    """Whoever saves a moment later finds more than its beginning."""
    looks = [*range(0, 40_000, 500), *range(100_000, 104_000, 500)]

    assert [100_000, 101_000, 103_000] == kept(looks)[-3:]


@pytest.mark.parametrize(("took_ms", "next_ms"), [(10, 1000), (200, 4000)])
def test_what_takes_long_to_keep_is_kept_seldom(took_ms, next_ms):
    """Whoever records an event waits meanwhile: a twentieth of the time at most."""
    assert [0, next_ms] == kept(range(0, 5000, 500), took_ms=took_ms)[:2]
