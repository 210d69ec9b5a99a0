"""How slow processors are is observed, and a plan knows it."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest

from blsnb.benchmark.level import Load
from blsnb.planning.calibration import TRITON, CalibratedModel, Calibration
from blsnb.planning.fitting import Loop, reproduction
from blsnb.planning.plans.check import check
from blsnb.planning.simulation.loads import open_loop
from blsnb.planning.simulation.pace import STEP_NS
from blsnb.planning.slowness_meter import (
    UNKNOWN,
    Costs,
    SlownessMeter,
    SlownessSample,
    Ticks,
    costs,
    joined,
    metered,
    processor_ticks,
    speed_remarks,
    spell_remarks,
)

from .configs import computes, config
from .plans.test_check import Answering, plan_of

MINUTE_NS = 3_000 * STEP_NS
SPELLS = (((1.0,) * 45 + (2.0,) * 5) * 10,) * 2
"""A tenth of the time work takes twice as long."""


def samples(*costs_ns: int) -> list[SlownessSample]:
    """Return samples in the middle of each step."""
    return [
        SlownessSample(number * STEP_NS + STEP_NS // 2, ns)
        for number, ns in enumerate(costs_ns)
    ]


def test_the_meter_times_work_on_each_processor():
    """All of them have the same steps, and no cost is zero."""
    with SlownessMeter() as meter:
        while min(map(len, meter._samples.values())) < 5:
            os.sched_yield()

    assert min(8, len(os.sched_getaffinity(0))) == len(meter.costs.steps)
    assert 1 == len({len(row) for row in meter.costs.steps})
    assert len(meter.costs.steps[0]) >= 4
    assert np.min(meter.costs.steps) > 0


def test_a_spell_is_seen_and_a_single_interrupt_is_not():
    """One of three samples around a step is no majority."""
    row = samples(100, 100, 900, 100, 100, 200, 200, 200)

    [found] = costs([row], 0, 8 * STEP_NS).steps

    assert (100, 100, 100, 100, 100, 200, 200, 200) == found


def test_costs_begin_and_end_with_the_measurement():
    """Samples outside of it are not in them."""
    [found] = costs([samples(*[1] * 6, *[3] * 6)], 7 * STEP_NS, 10 * STEP_NS).steps

    assert (3, 3, 3) == found


@pytest.mark.parametrize("found", [[], [samples(1, 2), []]])
def test_costs_without_samples_of_each_processor_are_unknown(found):
    """As they are where a measurement is shorter than a step."""
    assert UNKNOWN == costs(found, 0, 2 * STEP_NS)
    assert UNKNOWN == costs([samples(1, 2)], 0, STEP_NS // 2)


def test_unknown_costs_change_nothing():
    """Neither a factor nor a series."""
    known = Costs(((2.0, 4.0),))

    assert known == joined([UNKNOWN, known])
    assert 1 == UNKNOWN.factor(5.0) == known.factor(0.0)
    assert 1.5 == known.factor(2.0)
    assert () == spell_remarks(UNKNOWN)


def test_costs_of_several_measurements_follow_one_another():
    """Of each processor; its slowness is in relation to the mean of all."""
    whole = joined([Costs(((1.0,), (2.0,))), Costs(((4.0,), (5.0,)))])

    assert Costs(((1.0, 4.0), (2.0, 5.0))) == whole
    assert ((1 / 3, 4 / 3), (2 / 3, 5 / 3)) == whole.relative(whole.mean_ns)


def test_a_processor_has_ticks_of_work_and_stolen_ones(tmp_path):
    """Those of idleness and of waits for disks are neither."""
    rows = "cpu  9 9 9 9 9 9 9 9 9 9", "cpu1 1 2 4 8 16 32 64 128 0 0", "cpu10 5 5 5 5"
    (tmp_path / "stat").write_text("\n".join([*rows, "intr 7"]))

    assert Ticks(1 + 2 + 4 + 32 + 64, 128) == processor_ticks(1, tmp_path)
    assert Ticks(0, 0) == processor_ticks(2, tmp_path)


def test_stolen_time_is_a_share_of_the_time_with_work():
    """A minute in which each second step is idle, and a third of the rest is stolen."""
    row = [
        each._replace(ticks=Ticks(busy=2 * number, stolen=number))
        for number, each in enumerate(samples(*[1] * 300))
    ]

    [stolen] = costs([row], 20 * STEP_NS, 280 * STEP_NS).stolen

    assert [1 / 3] * 260 == pytest.approx(stolen, abs=0.01)


def test_stolen_time_is_where_it_was():
    """A fifth of a second of it, without work before and after."""
    row = [
        each._replace(ticks=Ticks(number, 2 * min(max(0, number - 40), 10)))
        for number, each in enumerate(samples(*[1] * 100))
    ]

    [stolen] = costs([row], 0, 100 * STEP_NS).stolen

    assert {0.0} == set(stolen[:35]) | set(stolen[56:])
    assert 0.65 == pytest.approx(max(stolen), abs=0.02)


def test_stolen_time_makes_work_longer_and_processors_no_slower():
    """The work takes its time, of which processes know nothing."""
    found = Costs(((2.0, 2.0),), ((0.0, 0.5),))

    assert ((1.0, 2.0),) == found.relative(2.0)
    assert (2.0, 1.0, 0.0, 0.25) == (
        found.mean_ns,
        found.factor(2.0),
        found.deviation,
        found.mean_stolen,
    )


def test_the_deviation_is_one_in_relation_to_the_mean():
    """Twice as slow processors differ twice as much."""
    assert 0.5 == Costs(((1.0, 3.0),)).deviation
    assert 0.5 == Costs(((2.0, 6.0),)).deviation
    assert 0.0 == Costs().deviation


def test_stolen_time_of_several_measurements_follows_one_another():
    """Nothing was stolen where it is not known."""
    whole = joined([Costs(((1.0, 1.0),)), Costs(((2.0,),), ((0.5,),))])

    assert Costs(((1.0, 1.0, 2.0),), ((0.0, 0.0, 0.5),)) == whole


def test_stolen_time_is_a_remark():
    """From a fiftieth of the time on."""
    steps = ((1.0,) * 10,)

    assert (
        "The host of this virtual machine took its processors away for 10% of the time "
        "in which they had work. The simulation does the same.",
    ) == spell_remarks(Costs(steps, ((0.1,) * 10,)))
    assert () == spell_remarks(Costs(steps, ((0.01,) * 10,)))


def test_slow_spells_are_a_remark():
    """For a tenth of the time work takes twice as long."""
    assert (
        "The processors were not equally fast all the time: for 5 % of it the same "
        "work took 1.82 times as long as on average, or longer. The simulation varies "
        "them in the same way.",
    ) == spell_remarks(Costs(((1.0,) * 90 + (2.0,) * 10,)))
    assert () == spell_remarks(Costs(((1.0,) * 95 + (2.0,) * 5,)))
    assert () != spell_remarks(Costs(((1.0,) * 94 + (2.0,) * 6,)))


def test_another_speed_than_that_of_the_observation_is_a_remark():
    """It takes more than a tenth."""
    text = (
        "The same work took {} times as long on these processors as while the models "
        "were observed. Observe the models again."
    )
    assert () == speed_remarks(1.09)
    assert (text.format("1.34"),) == speed_remarks(1.34)
    assert (text.format("0.80"),) == speed_remarks(0.8)


def test_a_measurement_is_returned_with_the_costs_of_its_time():
    """Its result is what the function returns."""
    found, spent = metered(lambda: sum(range(3_000_000)))

    assert sum(range(3_000_000)) == found
    assert spent == UNKNOWN or spent.mean_ns > 0


def computing(slowness=()) -> Calibration:
    """Return the calibration of a model that computes for 10 ms."""
    model = CalibratedModel(config("m"), {1: [computes(10)]})
    return Calibration("m", TRITON, {"m": model}, 2.0, slowness=slowness, probe_ns=1e5)


def latencies_ms(found: Calibration, seed: int = 0, **given) -> list[float]:
    """Return the latencies of a request every 20 ms, for a minute."""
    times = range(0, MINUTE_NS, STEP_NS)
    simulation = found.simulation(seed=seed, **given)
    answers = open_loop(simulation, "m", times).latencies_us
    return (answers / 1_000).round(3).tolist()


def test_a_simulation_varies_the_speed_of_its_processors():
    """A tenth of the requests takes 20 ms, and without spells none does."""
    found = latencies_ms(computing(SPELLS))

    slower = [ms for ms in found if ms > 10]
    assert 0.1 == pytest.approx(len(slower) / len(found), abs=0.03)
    assert (10, 20) == (min(found), max(found))
    assert {10} == set(latencies_ms(computing()))


def test_a_seed_decides_when_the_spells_come():
    """The same one gives the same answers."""
    first, again = (latencies_ms(computing(SPELLS), 1) for _ in range(2))

    assert first == again != latencies_ms(computing(SPELLS), 2)


def test_a_plan_for_more_processors_varies_the_speed_of_all():
    """Seven requests at once, each on one of eight; those observed were two."""
    eight = config("m", 8)
    simulation = computing(((2.0,), (4.0,))).simulation({"m": eight}, cores=8)
    found = open_loop(simulation, "m", [0] * 7).latencies_us

    assert [20_000] * 3 + [40_000] * 4 == pytest.approx(sorted(found))


def test_a_measured_load_is_reproduced_with_the_speed_of_its_time():
    """Its processors were slower by a half than those of the calibration."""
    load = Loop(0, 15_000, 10, range(0, MINUTE_NS, 5 * STEP_NS), ((1.5,), (1.5,)))

    assert 0 == pytest.approx(reproduction(computing(SPELLS), load).error)
    assert -1 / 3 == pytest.approx(
        reproduction(computing(SPELLS), load._replace(slowness=())).error, abs=0.01
    )


def checked(monkeypatch, factor: float):
    """Return the check of a plan on processors that are slower by a factor."""
    plan = plan_of()
    known = replace(plan, calibration=replace(plan.calibration, probe_ns=1e5))
    monkeypatch.setattr(
        "blsnb.planning.plans.check.metered",
        lambda measure: (measure(), Costs(((1e5 * factor,),))),
    )
    return check(known, Answering(), Load(0.2, 1000), 1)


def test_a_check_says_that_the_processors_have_another_speed(monkeypatch):
    """Its measurements do not belong to the observation then."""
    [remark] = checked(monkeypatch, 1.5).remarks

    assert "took 1.50 times as long" in remark
    assert remark in str(checked(monkeypatch, 1.5))
    assert () == checked(monkeypatch, 1.0).remarks
