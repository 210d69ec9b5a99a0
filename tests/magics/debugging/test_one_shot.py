"""Breakpoints for one stop: what their conditions say without a debugger."""

from __future__ import annotations

from blsnb.debugger import one_shot


def test_a_condition_that_is_evaluated_late_stops_nothing():
    """The breakpoints of an earlier stop are no longer armed."""
    one_shot.disarm()

    assert one_shot.is_hit() is False
