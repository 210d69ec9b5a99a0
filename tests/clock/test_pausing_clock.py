"""Specification of the clock that stands still during pauses."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from blsnb.clock import pausing_clock
from blsnb.clock.pausing_clock import Pause, PausingClock


@pytest.fixture
def real(monkeypatch):
    """Real time that only the test advances."""
    real = SimpleNamespace(ns=1_000)
    monkeypatch.setattr(
        pausing_clock, "time", SimpleNamespace(monotonic_ns=lambda: real.ns)
    )
    return real


def test_a_clock_without_pauses_is_pythons_own_function():
    """Reading it costs nothing more."""
    assert time.monotonic_ns is PausingClock().now_ns


def test_a_paused_clock_stands_still(real):
    """After the pause it continues at that time; pauses nest."""
    paused = PausingClock()
    paused.pause()
    paused.pause()
    real.ns += 50
    paused.resume()
    real.ns += 10
    at_the_end = paused.now_ns()
    paused.resume()
    real.ns += 5

    assert (1_000, 1_005) == (at_the_end, paused.now_ns())
    assert (Pause(1_000, 60),) == paused.pauses(900, 1_005)
    assert () == paused.pauses(1_001, 2_000)


def test_the_duration_of_earlier_pauses_is_known(real):
    """It is what the clock is behind real time."""
    paused = PausingClock()
    for _ in range(2):
        paused.pause()
        real.ns += 7
        paused.resume()
        real.ns += 1

    assert [0, 7, 14] == [paused.paused_before_ns(ns) for ns in (1_000, 1_001, 1_002)]


def test_pauses_at_both_ends_of_a_period_belong_to_it(real):
    """A pause begins at the time at which the clock stood still."""
    paused = PausingClock()
    for _ in range(3):
        paused.pause()
        real.ns += 7
        paused.resume()
        real.ns += 10

    expected = [Pause(1_000, 7), Pause(1_010, 7), Pause(1_020, 7)]
    assert expected == [*paused.pauses(1_000, 1_020)]
    assert expected[1:2] == [*paused.pauses(1_001, 1_019)]


def test_the_latest_10_000_pauses_are_remembered(real):
    """A debugger of a long session does not fill the memory."""
    paused = PausingClock()
    for _ in range(10_001):
        paused.pause()
        real.ns += 1
        paused.resume()
        real.ns += 1

    found = paused.pauses(0, 20_000)
    assert (10_000, 1_001, 11_000) == (
        len(found),
        found[0].start_ns,
        found[-1].start_ns,
    )


@pytest.mark.parametrize(
    ("left_ns", "running_s", "paused_s"),
    [(0, 0.0, 0.05), (-5, 0.0, 0.05), (50_000_000, 0.05, 0.05), (10**9, 1.0, 1.0)],
)
def test_a_wait_is_at_least_50_ms_during_a_pause(real, left_ns, running_s, paused_s):
    """The clock does not move until the pause ends."""
    clock = PausingClock()
    assert running_s == clock.real_s(left_ns)
    clock.pause()
    assert paused_s == clock.real_s(left_ns)
    clock.resume()
    assert running_s == clock.real_s(left_ns)


def test_a_wait_does_not_end_during_a_pause(real):
    """The timeout that passes in real time is waited for again."""
    paused, waits = PausingClock(), []

    class Waiting:
        def wait(self, timeout_s=None):
            waits.append(timeout_s)
            if len(waits) == 1:
                paused.pause()
            elif len(waits) == 3:
                paused.resume()
            real.ns += round(timeout_s * 1e9)
            return False

    assert not paused.wait(Waiting(), 0.2)
    assert [0.2, 0.2, 0.2] == [round(wait, 3) for wait in waits]
