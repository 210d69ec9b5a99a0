"""Priorities, queue policies and rate limits in simulated time, beside formulas."""

from __future__ import annotations

import random

import numpy as np
import pytest

from blsnb.planning.calibration import HERE, CalibratedModel, Calibration
from blsnb.planning.judgement import judge
from blsnb.planning.plans.plan_text import findings
from blsnb.planning.simulation.behaviour import Behaviour, Step
from blsnb.planning.simulation.loads import Kind, Mix, open_loop
from blsnb.planning.simulation.simulation import SimulatedModel, Simulation
from blsnb.request_fields import RequestFields

from ..configs import MS, config, ensemble, model, quick_plan, tensors, waits
from .test_simulation import latencies, poisson_ms


def batching(rules):
    """Return the settings of a model whose batches have one request."""
    return f"max_batch_size: 1 dynamic_batching {{ {rules} }}"


def exponential(name, rules, count=1, seed=3):
    """Return a model with random executions of mean 1 ms."""
    drawn = random.Random(seed)
    return SimulatedModel(
        config(name, count, batching(rules)),
        lambda size, _: waits(drawn.expovariate(1.0)),
    )


def poisson_ns(rate, count):
    """Return the times of random requests."""
    return [round(ms * MS) for ms in poisson_ms(rate, count)]


LEVELS = "priority_levels: 2 default_priority_level: 2"
FIRST, SECOND = RequestFields(priority=1), RequestFields(priority=2)
MIXED = Mix((Kind(0.4, FIRST), Kind(0.6, SECOND)))


def test_priorities_wait_as_in_the_formula_of_cobham():
    """Each level waits for those above it and for the execution in progress."""
    simulation = Simulation({"m": exponential("m", LEVELS)}, 8)
    found = open_loop(simulation, "m", poisson_ns(600, 40_000), mix=MIXED)
    means = {
        priority: np.mean(
            [
                each.started_ns - each.queued_ns
                for each in found.kept
                if each.fields.priority == priority
            ]
        )
        / MS
        for priority in (1, 2)
    }
    # 0.6 requests of mean 1 ms are in service: 0.24 of level 1, 0.36 of level 2.
    residual = 0.6 * 2 / 2
    expected = {1: residual / 0.76, 2: residual / (0.76 * 0.4)}

    assert expected == pytest.approx(means, rel=0.08)


def test_a_full_queue_refuses_as_many_as_the_formula_says():
    """One instance with three waiting requests is an M/M/1/4 queue."""
    rules = "default_queue_policy { max_queue_size: 3 }"
    simulation = Simulation({"m": exponential("m", rules)}, 8)
    found = open_loop(simulation, "m", poisson_ns(900, 30_000))
    use = 0.9
    refused = (1 - use) * use**4 / (1 - use**5)

    assert refused == pytest.approx(found.failed / len(found.kept), rel=0.06)
    assert {"Exceeds maximum queue size": found.failed} == found.errors


@pytest.mark.parametrize(
    ("action", "outcomes"),
    [
        ("REJECT", [(10, "Request timeout expired"), (10, ""), (20, "")]),
        ("DELAY", [(10, ""), (20, ""), (30, "")]),
    ],
)
def test_an_expired_request_is_rejected_or_delayed(action, outcomes):
    """A delayed one is executed after those in time."""
    rules = (
        "default_queue_policy { default_timeout_microseconds: 5000 "
        f"timeout_action: {action} }}"
    )
    models = {"m": model("m", waits(10), more=batching(rules))}
    found = open_loop(Simulation(models, 8), "m", [0, MS, 8 * MS])

    assert outcomes == [(each.ended_ns / MS, each.error) for each in found.every]
    assert (action == "DELAY") == found.delayed
    if action == "DELAY":
        assert [0, 8, 1] == [each.began_ns / MS for each in found.every]


def test_a_request_has_a_shorter_timeout_than_its_queue():
    """If the policy allows it."""
    rules = (
        "default_queue_policy { default_timeout_microseconds: 50000 "
        "allow_timeout_override: true }"
    )
    models = {"m": model("m", waits(10), more=batching(rules))}
    mix = Mix((Kind(1, RequestFields(timeout_us=5000)),))
    found = open_loop(Simulation(models, 8), "m", [0, MS], mix=mix)

    assert {"Request timeout expired": 1} == found.errors


def test_responses_keep_the_order_of_requests():
    """A fast one waits for the slow one before it."""
    durations = iter([9, 2])
    ordered = SimulatedModel(
        config("m", 2, batching("preserve_ordering: true")),
        lambda size, _: waits(next(durations)),
    )

    assert [9, 8] == latencies({"m": ordered}, "m", [0, 1])


def limited(name, resource, count=1, more="", priority=0):
    """Return a model whose instances need one piece of a resource."""
    needs = (
        f'rate_limiter {{ priority: {priority} resources {{ name: "{resource}" '
        "count: 1 } }"
    )
    group = f'name: "{name}_l" kind: KIND_CPU count: {count} {needs}'
    return config(name, 0, f"{more} instance_group {{ {group} }}")


def waiting(found, ms):
    """Return a model of a configuration, which waits."""
    return SimulatedModel(found, lambda size, _: waits(ms, size))


@pytest.mark.parametrize("more", ["", batching("")])
def test_models_that_share_a_resource_are_one_queue(more):
    """Two instances with one piece are an M/D/1 queue; without limits they are two."""
    models = {"m": waiting(limited("m", "R", 2, more), 1)}
    means = {}
    for limits in (None, {"R": {None: 1}}):
        simulation = Simulation(models, 8, rate_limits=limits)
        found = open_loop(simulation, "m", poisson_ns(600, 20_000))
        means[bool(limits)] = np.mean(found.latencies_us) / 1e3

    assert 1 + 0.6 / (2 * 0.4) == pytest.approx(means[True], rel=0.06)
    assert means[False] < 1.2


def test_a_priority_of_two_executes_half_as_often():
    """While both models always have requests."""
    pair = Behaviour(1, (Step((), 0, 0, "a"), Step((0,), 0)))
    models = {
        "p": model("p", pair, count=9),
        "a": waiting(limited("a", "R", priority=1), 1),
        "b": waiting(limited("b", "R", priority=2), 1),
    }
    simulation = Simulation(models, 8, rate_limits={"R": {None: 1}})

    def again(request):
        if simulation.timeline.now_ns < 300 * MS:
            simulation.send(request.model, 1, again)

    for name in ("a", "b") * 2:
        simulation.timeline.at(0, lambda name=name: simulation.send(name, 1, again))
    simulation.timeline.run()
    counts = {name: simulation.stations[name].executions for name in ("a", "b")}

    assert 2 == pytest.approx(counts["a"] / counts["b"], rel=0.05)


def test_a_child_that_is_refused_ends_its_parent():
    """As an exception in ``execute`` does."""
    rules = batching("default_queue_policy { max_queue_size: 1 }")
    calls = Behaviour(1, (Step((), 0, MS, "c"), Step((0,), 0, 5 * MS)))
    models = {"p": model("p", calls, count=9), "c": model("c", waits(10), more=rules)}
    found = open_loop(Simulation(models, 8), "p", [0, 0, 0])

    assert [1, 16, 26] == [each.ended_ns / MS for each in found.every]
    assert {"Exceeds maximum queue size": 1} == found.errors


def judged(found, rate, limits=None):
    """Return a simulated load of a model that waits 10 ms, and what a plan says."""
    models = {"m": CalibratedModel(found, {1: [waits(10)]})}
    calibration = Calibration("m", HERE, models, 8.0, rate_limits=limits)
    plan = quick_plan(calibration, None, rate)
    return judge(calibration, None, rate, 2_000), "\n".join(findings(plan))


def test_an_ensemble_uses_the_resources_of_its_steps():
    """It has no instances of its own."""
    inputs = tensors(input="X", output="Y")
    limited_step = limited("a", "R", more=inputs)
    models = {
        "e": ensemble("e", {"a": ("X", "Y")}, inputs),
        "a": waiting(limited_step, 10),
    }
    simulation = Simulation(models, 8, rate_limits={"R": {None: 1}})
    open_loop(simulation, "e", [0, 40 * MS])

    assert {("R", 0): 0.4} == simulation.resource_uses()


def test_a_plan_names_a_resource_that_holds_requests_back():
    """Two instances of which only one may execute are busy for half of the time."""
    judgement, text = judged(limited("m", "R", 2), 80, {"R": {None: 1}})

    assert "R of device 0" == judgement.limiting_resource
    assert 0.8 == pytest.approx(judgement.resources["R of device 0"], rel=0.05)
    assert 0.4 == pytest.approx(judgement.models["m"].use, rel=0.05)
    assert (
        "The bottleneck is the resource R of device 0 of the rate limits, used to"
        in text
    )


def test_a_resource_that_is_not_the_bottleneck_is_not_named():
    """There is enough of it for all instances."""
    judgement, text = judged(limited("m", "R", 2), 80, {"R": {None: 4}})

    assert "" == judgement.limiting_resource
    assert "The bottleneck is the instances of m" in text


def test_a_plan_names_a_queue_policy_that_refuses_requests():
    """As many of them as the model of the queue."""
    rules = batching("default_queue_policy { max_queue_size: 1 }")
    judgement, text = judged(config("m", 1, rules), 150)
    share = judgement.models["m"].refused_share

    assert "m" == judgement.refusing_model
    assert share == pytest.approx(judgement.refused_share, rel=0.1)
    assert "The bottleneck is the queue policy of m: it refuses" in text
