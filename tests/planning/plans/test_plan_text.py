"""The texts of a plan, as they are printed, from judgements made by hand."""

from __future__ import annotations

import math

import pytest

from blsnb.planning.calibration import (
    HERE,
    TRITON,
    CalibratedModel,
    Calibration,
    Reproduction,
)
from blsnb.planning.judgement import Judgement, ModelUse
from blsnb.planning.options import Option, Setting
from blsnb.planning.plans import plan_text
from blsnb.planning.plans.plan import Plan
from blsnb.planning.search import REQUESTS, Judged

from ..configs import config, waits

M = config("m")
GPUS = config("m", 0, 'instance_group { name: "m" kind: KIND_GPU gpus: [0, 1] }')
USE = {"m": ModelUse(0.5, 2.25, 1_500, 1)}


def judgement(rate=50.0, **fields):
    """Return a load that is held, whose processors are half as busy as its model."""
    usual = Judgement(rate, rate, 10_000, 15_000, 20_000, 0, USE, 0.25, {}, 100)
    return usual._replace(**fields)


def judged(*at, settings=None, requests=REQUESTS[-1], configs=None):
    """Return a configuration that is slowest at the last of its rates."""
    option = Option(settings or {}, configs or {"m": M}, 3)
    return Judged(option, at[-1], at, requests)


def plan_of(*options, rates=(50.0,), more=None, world=TRITON, cores=None, of=M):
    """Return a plan whose calibration was wrong by 4 % at 100 requests/s."""
    model = CalibratedModel(of, {1: [waits(10)]})
    again = (Reproduction(2, 10_000, 9_600, 100.0, 100.0),)
    found = Calibration("m", world, {"m": model}, 2.0, again)
    return Plan(found, rates, 30_000, options, (), more or {}, cores=cores)


REPRODUCED = (
    "The calibration simulates 2 clients with a median of 9.60 ms; measured were 10 "
    "ms (-4%)."
)
INSTANCES = (
    "The bottleneck is the instances of m, busy for 50% of the time, with batches of "
    "2.25 and 1.50 ms in the queue."
)


def test_a_plan_is_printed_with_its_load_its_table_and_its_findings():
    """The best configurations alone are in the table, as others are only rough."""
    several = {"m": Setting(2, 1_500, 8)}
    rough = judged(judgement(), requests=REQUESTS[0])
    plan = plan_of(judged(judgement(), settings=several), rough)

    assert [
        "m at 50 requests/s, p99 within 30 ms: 2 configurations, the best 1 with "
        "20,000 requests, simulated for a process for each instance",
        "configuration                        instances  p50         p99         "
        "answered/s  busiest  holds",
        "m 2 instances delay 1.50 ms batch 8  3          10 ms ± 4%  20 ms ± 4%  "
        "50          m 50%    yes",
        INSTANCES,
        REPRODUCED,
    ] == plan_text.lines(plan)
    assert (
        "<Plan m at 50/s: m 2 instances delay 1.50 ms batch 8, p99 20 ms>"
    ) == plan_text.line(plan)


def test_a_plan_for_several_rates_has_the_one_at_which_each_is_slowest():
    """The range is in its caption and in its line."""
    loads = judgement(5.0, p99_us=40_000), judgement(50.0)
    plan = plan_of(judged(*loads), judged(loads[1], loads[0]), rates=(5.0, 50.0))
    head, rows = plan_text.table(plan)

    assert (
        "m at 5 to 50 requests/s, p99 within 30 ms: 2 configurations at 2 rates, "
        "simulated for a process for each instance"
    ) == plan_text.caption(plan)
    assert "slowest at" == head[4]
    assert [("50/s", "no"), ("5/s", "no")] == [(row[4], row[6]) for row in rows]
    assert "<Plan m at 5 to 50/s: not held: as configured, p99 20 ms>" == (
        plan_text.line(plan)
    )


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, INSTANCES),
        (
            {"cores_use": 0.75},
            "The bottleneck is the processors, busy for 75% of the time: more "
            "instances do not help.",
        ),
        (
            {"resources": {"R": 0.9, "S": 0.8}},
            "The bottleneck is the resource R of the rate limits, used to 90%: more "
            "instances do not help.",
        ),
        (
            {"models": {"m": ModelUse(0.5, 1, 0, 1, 0.025)}},
            "The bottleneck is the queue policy of m: it refuses 2.5% of the requests, "
            "while the instances are busy for 50% of the time.",
        ),
        (
            {"models": {"m": ModelUse(0.009, 1, 0, 1)}, "cores_use": 0.04},
            "There is no bottleneck: all instances and processors are idle for at "
            "least 96% of the time.",
        ),
    ],
)
def test_what_holds_requests_back_is_named_with_its_numbers(fields, text):
    """It is what would have to change first."""
    plan = plan_of(judged(judgement(**fields)))

    assert [text, REPRODUCED] == plan_text.findings(plan)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"answered_rate": 40.0}, "answers 40 of 50 requests/s."),
        ({"p99_us": 30_001.0}, "has a p99 of 30.0 ms at 50 requests/s."),
    ],
)
def test_a_load_that_nothing_holds_has_its_reason(fields, text):
    """It comes first; up to the limit a load is held."""
    plan = plan_of(judged(judgement(**fields)))
    reason = f"No configuration holds the load: the best one {text}"

    assert [reason, INSTANCES, REPRODUCED] == plan_text.findings(plan)
    assert plan_of(judged(judgement(p99_us=30_000.0))).holds


@pytest.mark.parametrize(
    ("of", "where"), [(M, ""), (GPUS, " on each GPU")], ids=["cpu", "gpus"]
)
def test_one_more_instance_is_said_with_what_it_brings(of, where):
    """Both times are of the highest rate."""
    more = {"m": judgement(p99_us=15_000)}
    plan = plan_of(judged(judgement(5.0), judgement(50.0)), more=more, of=of)

    assert (
        f"One more instance of m{where}: p99 15 ms instead of 20 ms at 50 requests/s."
    ) == plan_text.findings(plan)[1]


def test_batches_that_were_not_observed_at_any_rate_are_listed():
    """Simulated times of such batches are less certain."""
    loads = [judgement(extrapolated={"m": sizes}) for sizes in ([7, 8], [2, 6, 8])]

    assert (
        "Extrapolated: m was not observed with batches of 2, 6 to 8."
        == (plan_text.findings(plan_of(judged(*loads)))[1])
    )


@pytest.mark.parametrize(
    ("rate", "cores", "world", "texts"),
    [
        (100.0, 2.0, TRITON, []),
        (
            101.0,
            None,
            TRITON,
            [
                "Extrapolated: at most 100 requests/s were measured, with the "
                "configuration as it is."
            ],
        ),
        (
            100.0,
            2.5,
            TRITON,
            ["Extrapolated: 2.5 processors; the calibration is for 2."],
        ),
        (
            100.0,
            4,
            HERE,
            [
                "Extrapolated: 4 processors; the calibration is for 2 that Python code "
                "of one kernel had."
            ],
        ),
    ],
)
def test_loads_and_processors_beyond_the_measured_ones_are_said(
    rate, cores, world, texts
):
    """Up to the highest measured rate, and with as many processors, nothing is."""
    load = judged(judgement(rate))
    plan = plan_of(load, rates=(rate,), cores=cores, world=world)

    assert [INSTANCES, *texts, REPRODUCED] == plan_text.findings(plan)


def test_a_time_without_a_known_error_stands_alone():
    """A calibration need not have been compared with measurements."""
    assert ["1 ms", "1 ms ± 12%"] == [
        plan_text.estimate(1_000, error) for error in (math.nan, 0.12)
    ]
