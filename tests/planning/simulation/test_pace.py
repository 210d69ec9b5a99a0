"""Processors whose speed varies, and work that takes turns on them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blsnb.planning.simulation.cores import SlicedCores
from blsnb.planning.simulation.pace import STEADY, STEP_NS, Varying
from blsnb.planning.simulation.timeline import Timeline

SPEEDS = st.lists(st.floats(0.25, 4), min_size=1, max_size=6)


def end_ns(paces, work_ns: float) -> int:
    """Return when a piece of work ends that begins at 0."""
    timeline, ends = Timeline(), []
    cores = SlicedCores(timeline, len(paces), paces)
    cores.compute(work_ns, lambda: ends.append(timeline.now_ns))
    timeline.run()
    return ends[0]


def test_work_takes_twice_as_long_on_a_processor_of_slowness_two():
    """One of slowness 1 is as if nothing were known."""
    assert 14_000 == end_ns([Varying([2.0])], 7_000)
    assert 7_000 == end_ns([Varying([1.0])], 7_000) == end_ns([STEADY], 7_000)


def test_work_that_lasts_longer_than_a_step_goes_on_at_the_speed_of_the_next_one():
    """Half of it in the first step, at half the speed; the rest at full speed."""
    pace = Varying([2.0, 1.0])

    assert 1.5 * STEP_NS == end_ns([pace], STEP_NS)


def test_the_speed_repeats_after_its_last_step():
    """Three steps, of which every other one gets half as much done."""
    assert 3 * STEP_NS == end_ns([Varying([2.0, 1.0])], 2 * STEP_NS)


def test_a_processor_can_begin_later_in_its_observed_time():
    """At a half of it: the slow step comes second."""
    pace = Varying([2.0, 1.0]).beginning(0.5)

    assert STEP_NS == end_ns([pace], STEP_NS)
    assert 2.5 * STEP_NS == end_ns([pace], 2 * STEP_NS)


def test_a_piece_that_was_preempted_goes_on_with_what_is_left_of_it():
    """It loses nothing at the change of speed in between."""
    timeline, ends = Timeline(), []
    cores = SlicedCores(timeline, 1, [Varying([2.0, 1.0])])
    cores.compute(STEP_NS, lambda: ends.append(timeline.now_ns))
    timeline.at(
        STEP_NS // 2,
        lambda: cores.compute(STEP_NS // 8, lambda: ends.append(timeline.now_ns)),
    )
    timeline.run()

    # The short one computes for 5 ms, in turns with the other one from 12 to 16 ms; of
    # that one 15 of 40 ms are left for the fast step.
    assert [19_000_000, 1.625 * STEP_NS] == ends
    assert 1.625 * STEP_NS == cores.busy_ns


@given(SPEEDS, st.floats(0, 1), st.integers(0, 10**10))
def test_the_work_until_a_time_is_done_at_that_time(slowness, share, at_ns):
    """Both directions agree within a nanosecond, also at the border of a step."""
    pace = Varying(slowness).beginning(share)

    assert at_ns == pytest.approx(pace.time_ns(pace.work_ns(at_ns)), abs=1)


@given(SPEEDS, st.integers(0, 10**9), st.integers(1, 10**9))
def test_more_time_means_more_work(slowness, at_ns, later_ns):
    """At least a quarter of it, at most four times as much."""
    pace = Varying(slowness)
    done = pace.work_ns(at_ns + later_ns) - pace.work_ns(at_ns)

    assert later_ns / 4 - 1 <= done <= later_ns * 4 + 1
    assert math.isfinite(done)
