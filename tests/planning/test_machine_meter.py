"""A calibration on a busy machine says so."""

from __future__ import annotations

import pytest
from cells import CONFIG, DOUBLE

from blsnb.planning import machine_meter
from blsnb.planning.machine_meter import MachineMeter, busy_remarks

X = {"X": [1.0]}


@pytest.fixture
def clocks(monkeypatch):
    """Readings of busy, all and own processor time in ns, the first ones first."""

    def set_to(*readings):
        rest = iter(readings)
        now = []

        def machine_ns():
            now[:] = next(rest)
            return tuple(now[:2])

        monkeypatch.setattr(machine_meter, "machine_ns", machine_ns)
        monkeypatch.setattr(
            machine_meter.time, "process_time_ns", lambda: now[2] if now else 0
        )

    return set_to


def test_the_share_of_other_programs_is_what_is_left_of_the_machine(clocks):
    """Of 80 busy units of 100 this process used 30."""
    clocks((10, 100, 5), (90, 200, 35))
    with MachineMeter() as machine:
        assert 0 == machine.others

    assert 0.5 == machine.others


def test_an_unknown_share_is_none(clocks):
    """A system without counts of its processors."""
    clocks((0, 0, 5), (0, 0, 35))
    with MachineMeter() as machine:
        pass

    assert 0 == machine.others


def test_a_share_of_a_tenth_is_no_remark():
    """More is one: it says what that does to the times."""
    assert () == busy_remarks(0.1)
    assert (
        "The machine was busy with other work: other processes used 35% of the "
        "processors. The models' waits for a processor count as their own work, so "
        "that they look slower than they are. Observe the models again when it is "
        "idle.",
    ) == busy_remarks(0.35)


@pytest.mark.slow
def test_a_plan_of_a_busy_machine_says_that_its_times_are_too_long(server, clocks):
    """Below its table, in the words of the remark."""
    server.define("double", DOUBLE, config=CONFIG)
    clocks((0, 0, 0), (90, 100, 5))
    plan = server.plan(
        "double", X, rate=1, p99_ms=1e6, requests=3, duration_s=0.1, seed=1
    )

    assert "other processes used 85% of the processors" in plan.findings[-1]
    assert plan.findings[-1] in str(plan)
