"""What a simulated load says: whether it is held, and what limits it."""

from __future__ import annotations

import numpy as np
import pytest

from blsnb.planning.calibration import TRITON, CalibratedModel, Calibration
from blsnb.planning.judgement import CORES, Judgement, ModelUse, judge, simulate
from blsnb.planning.simulation.loads import Kind, Mix
from blsnb.planning.simulation.simulation import Frontend
from blsnb.request_fields import RequestFields

from .configs import config, waits

QUANTILES = (50, 90, 99)
USES = {"m": ModelUse(0.5, 1, 0, 1), "n": ModelUse(0.7, 1, 0, 2, 0.01)}


def judgement(**fields) -> Judgement:
    """Return a load that is held; `fields` differ."""
    held = Judgement(100.0, 100.0, 1, 2, 3, 0, USES, 0.6, {}, 10)
    return held._replace(**fields)


@pytest.mark.parametrize(
    ("fields", "is_held"),
    [
        ({}, True),
        ({"answered_rate": 97.0}, True),
        ({"answered_rate": 96.9}, False),
        ({"refused_share": 0.01}, True),
        ({"refused_share": 0.011}, False),
    ],
)
def test_a_load_is_held_if_nearly_all_is_answered(fields, is_held):
    """Queues may refuse one request in a hundred, as their policies say."""
    assert is_held is judgement(**fields).is_held


def test_the_busiest_part_is_the_bottleneck():
    """That is a model, or the processors."""
    assert ["n", CORES] == [judgement(cores_use=use).bottleneck for use in (0.6, 0.8)]
    assert "cores" == CORES


IDLE = {"models": {"m": ModelUse(0.009, 1, 0, 1)}, "cores_use": 0.0}


@pytest.mark.parametrize(
    ("fields", "is_idle"),
    [
        ({}, False),
        (IDLE, True),
        (IDLE | {"models": {"m": ModelUse(0.01, 1, 0, 1)}}, False),
        (IDLE | {"cores_use": 0.01}, False),
        (IDLE | {"resources": {"R": 0.01}}, False),
    ],
)
def test_a_load_is_idle_if_nothing_is_busy(fields, is_idle):
    """Resources may be scarce while instances and processors are idle."""
    assert is_idle is judgement(**fields).is_idle


@pytest.mark.parametrize(
    ("fields", "has_bottleneck"),
    [
        ({"cores_use": 0.1}, True),
        ({"cores_use": 0.099}, False),
        ({"cores_use": 0.099, "resources": {"R": 0.1}}, True),
        ({"cores_use": 0.02, "answered_rate": 50.0}, True),
    ],
)
def test_what_is_hardly_busy_is_no_bottleneck(fields, has_bottleneck):
    """Unless requests are left over, as where sequences wait for slots."""
    assert has_bottleneck is judgement(**IDLE | fields).has_bottleneck


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({}, ""),
        ({"resources": {"R": 0.7}}, ""),
        ({"resources": {"R": 0.71, "S": 0.72}}, "S"),
        ({"resources": {"R": 0.75}, "cores_use": 0.75}, ""),
        ({"resources": {"R": 0.76}, "cores_use": 0.75}, "R"),
    ],
)
def test_a_resource_limits_if_it_is_busier_than_all_else(fields, name):
    """Otherwise more of it would not help."""
    assert name == judgement(**fields).limiting_resource


def test_a_model_that_refuses_many_requests_is_named():
    """That is more than one in a hundred; the one that refuses most comes first."""
    many = {
        name: ModelUse(0, 1, 0, 1, share) for name, share in (("a", 0.02), ("b", 0.3))
    }

    assert "" == judgement().refusing_model
    assert "b" == judgement(models=USES | many).refusing_model


def test_a_simulated_load_has_the_use_of_every_part():
    """A request every 20 ms waits 10 ms in a model, of which there are two."""
    models = {"m": CalibratedModel(config("m", 2), {1: [waits(10)]})}
    found = Calibration("m", TRITON, models, 4.0, frontend=Frontend(2_000_000))
    load = judge(found, None, 50.0, 2000)

    assert 50.0 == load.rate
    assert 50.0 == pytest.approx(load.answered_rate, rel=0.02)
    assert 0.25 == pytest.approx(load.models["m"].use, rel=0.05)
    # Of the processors only the work outside of the models is needed: a tenth of one.
    assert 0.025 == pytest.approx(load.cores_use, rel=0.05)
    assert (1.0, 1.0, 0.0) == (
        load.models["m"].batch_size,
        load.models["m"].calls,
        load.models["m"].refused_share,
    )
    assert 12_000 == pytest.approx(load.p50_us, rel=0.02)
    _, answers = simulate(found, None, 50.0, 2000)
    latencies = [float(each) for each in np.percentile(answers.latencies_us, QUANTILES)]
    assert latencies == [load.p50_us, load.p90_us, load.p99_us]
    assert (0, {}, 0, {}, {}, {}) == (
        load.failed,
        load.refusals,
        load.delayed,
        load.by_priority,
        load.resources,
        load.extrapolated,
    )
    assert 0.0 == load.refused_share
    assert judge(found, None, 50.0, 2000)[:8] == load[:8]
    assert judge(found, None, 50.0, 2000, cores=8.0).cores_use < load.cores_use


def test_each_priority_of_a_load_has_its_latencies():
    """There are two of them; the first one waits less."""
    more = "dynamic_batching { priority_levels: 2 default_priority_level: 2 }"
    models = {"m": CalibratedModel(config("m", more=more), {1: [waits(10)]})}
    kinds = tuple(Kind(0.5, RequestFields(priority=each)) for each in (1, 2))
    found = Calibration("m", TRITON, models, 4.0, mix=Mix(kinds))
    by_priority = judge(found, None, 90.0, 500).by_priority
    _, answers = simulate(found, None, 90.0, 500)

    medians, high = answers.by_priority(50), answers.by_priority(99)
    assert {each: (medians[each], high[each]) for each in (1, 2)} == by_priority
    assert 10_000 <= by_priority[1][0] < by_priority[2][0]
    assert by_priority[1][1] < by_priority[2][1] < 1_000_000


def test_a_model_has_the_mean_of_its_queue():
    """Half of the time it is busy: a formula gives half of an execution."""
    models = {"m": CalibratedModel(config("m"), {1: [waits(10)]})}
    found = Calibration("m", TRITON, models, 4.0)

    assert 5_000 == pytest.approx(
        judge(found, None, 50.0, 5_000).models["m"].queue_us, rel=0.15
    )
    assert ModelUse(0.0, 1.0, 0.0, 1.0) == (
        judge(found, None, 1e-3, 1).models["m"]._replace(use=0.0)
    )


def test_one_arrival_is_a_whole_sequence():
    """The rate is that of its requests."""
    models = {"m": CalibratedModel(config("m", 8), {1: [waits(1)]})}
    found = Calibration("m", TRITON, models, 4.0, mix=Mix(lengths=(4,)))
    load = judge(found, None, 40.0, 2_000)

    assert 2_000 == load.calls
    assert 40 == pytest.approx(load.answered_rate, rel=0.1)


def test_a_rare_request_is_simulated():
    """One in a minute: the simulated time may be longer than a day."""
    models = {"m": CalibratedModel(config("m"), {1: [waits(10)]})}
    load = judge(Calibration("m", TRITON, models, 4.0), None, 1 / 60, 2_000)

    assert load.is_held
    assert 1 / 60 == pytest.approx(load.answered_rate, rel=0.02)
    assert 10_000 == load.p99_us
