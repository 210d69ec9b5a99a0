"""A calibration that agrees with what a server counted without traces."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from blsnb.benchmark.level import Load
from blsnb.parity.triton.executed import Executed, since
from blsnb.planning.calibration import TRITON, CalibratedModel, Calibration, by_size
from blsnb.planning.fitting import Loop
from blsnb.planning.simulation.behaviour import Behaviour, Step
from blsnb.planning.simulation.loads import Mix, open_loop
from blsnb.planning.simulation.simulation import Frontend
from blsnb.planning.slowness_meter import Costs
from blsnb.planning.triton.agreement import calibration_of
from blsnb.planning.triton.matching import (
    matched,
    with_means,
    with_processor_time,
    without_spread,
)
from blsnb.planning.triton.observation import Observation, TracedModels
from blsnb.planning.triton.phases import Computing, Phase
from blsnb.planning.triton.processes import ProcessorTimes

from ..configs import MS, computes, config, waits

MANY = Load(1, 100)
TIMES_NS = [number * 100 * MS for number in range(50)]


def often(ms: float, count: int = 50) -> Executed:
    """Return counted executions with a mean."""
    return Executed(count, round(ms * MS) * count)


def chain() -> Calibration:
    """Return a model of 2 ms around a call of another one, which takes 5 ms."""
    calls = Behaviour(1, (Step((), 0, MS, "a"), Step((0,), 0, MS)))
    models = {
        "chain": CalibratedModel(config("chain"), {1: [calls]}),
        "a": CalibratedModel(config("a"), {1: [waits(5)]}),
    }
    return Calibration("chain", TRITON, models, 2.0)


def test_executions_take_as_long_as_the_server_counted():
    """Own work is what is left of an execution without its calls."""
    executed = {"chain": {1: often(9)}, "a": {1: often(6)}}
    found = matched(chain(), [Loop(0, 11_000, 10, TIMES_NS)], executed)
    means = {name: model.mean_ns(1) for name, model in found.models.items()}

    assert {"chain": 3 * MS, "a": 6 * MS} == pytest.approx(means)


def test_the_median_is_that_of_the_clients():
    """What is missing lies outside of the models."""
    executed = {"chain": {1: often(9)}, "a": {1: often(6)}}
    found = matched(chain(), [Loop(0, 11_000, 10, TIMES_NS)], executed)
    again = open_loop(found.simulation(), "chain", TIMES_NS)

    assert 2 * MS == found.frontend.waiting_ns
    assert 11_000 == pytest.approx(again.percentile_us(50))


def test_the_medians_of_two_loads_are_equally_wrong():
    """Without time outside of the models both would be 9 ms."""
    executed = {"chain": {1: often(9)}, "a": {1: often(6)}}
    loops = [Loop(0, median_us, 10, TIMES_NS) for median_us in (10_000, 12_000)]
    found = matched(chain(), loops, executed)
    again = open_loop(found.simulation(), "chain", TIMES_NS).percentile_us(50)

    assert 0 == pytest.approx(again / 10_000 - 1 + again / 12_000 - 1, abs=1e-6)


def test_the_medians_of_clients_count_where_stalls_made_the_means_longer():
    """A mean of 8 ms would make the median 10 ms; it was 8 ms."""
    executed = {"chain": {1: often(10)}, "a": {1: often(8)}}
    found = matched(chain(), [Loop(0, 8_000, 10, TIMES_NS)], executed)
    again = open_loop(found.simulation(), "chain", TIMES_NS)

    assert 8_000 == pytest.approx(again.percentile_us(50), rel=0.01)
    assert 6 * MS == pytest.approx(found.models["a"].mean_ns(1), rel=0.01)
    assert 2 * MS == pytest.approx(found.models["chain"].mean_ns(1))


def test_what_was_traced_is_not_made_shorter_for_a_median():
    """The traced executions take 7 ms together, and the clients saw 5 ms."""
    executed = {"chain": {1: often(10)}, "a": {1: often(8)}}
    found = matched(chain(), [Loop(0, 5_000, 10, TIMES_NS)], executed)

    assert [2 * MS, 5 * MS] == [
        found.models[each].mean_ns(1) for each in ("chain", "a")
    ]
    assert 0 == found.frontend.waiting_ns


def test_a_batch_size_has_the_mean_that_the_server_counted():
    """One of them was traced once, when it was slow; the others follow the ratio."""
    traced = by_size([waits(4), waits(6), waits(30, 2), waits(10, 4)])
    model = CalibratedModel(config("net"), traced)
    found = with_means(model, {1: often(4), 2: often(5), 4: often(9, 2)})

    assert [4 * MS, 5 * MS] == pytest.approx([found.mean_ns(1), found.mean_ns(2)])
    assert 10 * MS * (450 / 1_750) == pytest.approx(found.mean_ns(4))
    assert [4, 4, 4] == [len(each) for each in found.by_size.values()]


def test_a_model_with_calls_keeps_its_executions():
    """What a server counts of them contains their calls."""
    calls = Behaviour(1, (Step((), 0, MS, "a"), Step((0,), 0, MS)))
    several = by_size([calls, calls._replace(size=2)])
    for sizes in (several, {1: several[1]}, {1: [waits(4)]}):
        model = CalibratedModel(config("net"), sizes)

        assert model is with_means(model, {1: often(9), 2: often(9)})


def test_other_batches_than_those_of_the_server_make_no_execution_longer():
    """The simulation has two requests in each batch, and the server had one in each."""
    batching = "max_batch_size: 2 dynamic_batching { }"
    model = CalibratedModel(
        config("net", more=batching), by_size([waits(4), waits(6, 2)])
    )
    times_ns = [number // 3 * 100 * MS for number in range(60)]
    found = matched(
        Calibration("net", TRITON, {"net": model}, 2.0),
        [Loop(0, 1e9, 10, times_ns)],
        {"net": {1: often(4)}},
    )

    assert [4 * MS, 6 * MS] == pytest.approx(
        [found.models["net"].mean_ns(size) for size in (1, 2)]
    )


def test_an_own_time_that_was_too_long_is_taken_from_what_waits():
    """Processor time is measured; only if nothing waits it shrinks, too."""
    half = Behaviour(1, (Step((), 2 * MS, 4 * MS), Step((), 0, 4 * MS)))

    assert 2 * MS == half.longer(-5 * MS).computing_ns
    assert 5 * MS == half.longer(-5 * MS).own_ns
    assert 3 * MS == computes(5).longer(-2 * MS).own_ns
    assert 0 == computes(5).longer(-6 * MS).own_ns


def test_counts_are_those_of_a_load():
    """Batch sizes that did not occur in it are left out."""
    before = {"net": {1: Executed(3, 30), 8: Executed(2, 50)}}
    after = {"net": {1: Executed(5, 60), 2: Executed(1, 7), 8: Executed(2, 50)}}

    assert {"net": {1: Executed(2, 30), 2: Executed(1, 7)}} == since(after, before)


def load_of(ms: float, server_ms: float) -> Phase:
    """Return a load in which executions took a time and the server computed."""
    spent = ProcessorTimes(round(server_ms * 100 * MS), {"a": 0})
    executed = {"a": {1: often(ms)}}
    return Phase(50, 50, (ms + server_ms * 2) * MS, spent, 0, 1, executed)


def test_clients_in_a_closed_loop_have_the_costs_of_such_clients():
    """The server computes 2 ms for a request that comes at random, and 1 ms else."""
    traced = TracedModels({"a": chain().models["a"]}, {"a": Computing()}, 9 * MS)
    asked = Observation("a", {}, [], {}, {}, MANY, Mix(), None)
    phases = [load_of(5, 1), load_of(6, 2)]
    loops = [Loop(2, 6_000, 200), Loop(0, 8_000, 10, TIMES_NS)]
    found = calibration_of(asked, traced, phases, loops)

    assert [5 * MS, 6 * MS] == [
        each.models["a"].mean_ns(1) for each in (found.closed, found)
    ]
    assert [MS, 2 * MS] == [
        each.frontend.computing_ns for each in (found.closed, found)
    ]
    assert [2, 0] == [each.clients for each in found.reproductions]
    assert found.closed.closed is found.closed
    assert calibration_of(asked, traced, phases[1:], loops[1:]).crowded is None


def test_loads_on_slower_processors_are_compared_at_the_mean_speed():
    """Each was half a millisecond of a processor; the second at twice the cost."""
    traced = TracedModels({"a": chain().models["a"]}, {"a": Computing()}, 9 * MS)
    asked = Observation("a", {}, [], {}, {}, MANY, Mix(), None)
    slow = load_of(5, 2)._replace(costs=Costs(((30.0,) * 9, (30.0,) * 9)))
    fast = load_of(5, 1)._replace(costs=Costs(((15.0,) * 9, (15.0,) * 9)))
    loops = [Loop(2, 6_000, 200), Loop(0, 8_000, 10, TIMES_NS)]

    found = calibration_of(asked, traced, [slow, fast], loops)

    assert 22.5 == found.probe_ns == found.closed.probe_ns
    assert ((30 / 22.5,) * 9 + (15 / 22.5,) * 9,) * 2 == found.slowness
    assert [1.5 * MS, 1.5 * MS] == [
        each.frontend.computing_ns for each in (found.closed, found)
    ]


def test_executions_differ_less_without_what_has_another_cause():
    """Their mean stays; with all of the deviation they are equal."""
    own = [waits(each) for each in (8, 10, 12, 14)]

    def means_ms(ns):
        return [each.own_ns / MS for each in without_spread(own, ns)]

    deviation_ns = np.std([each.own_ns for each in own])
    assert [8, 10, 12, 14] == means_ms(0)
    assert [11] * 4 == pytest.approx(means_ms(deviation_ns))
    assert [11] * 4 == pytest.approx(means_ms(2 * deviation_ns))
    assert [9.2, 10.4, 11.6, 12.8] == pytest.approx(means_ms(0.8 * deviation_ns))
    assert [waits(5)] == without_spread([waits(5)], MS)


@pytest.mark.parametrize("spent_ms", [1, 3, 5, 8, 20])
def test_executions_compute_as_long_as_was_measured(spent_ms):
    """Short ones for all of their time; all become longer if they are too short."""
    own = [waits(each) for each in (2, 4, 6, 20)]
    found = with_processor_time(own, spent_ms * MS)
    computing_ns = [each.computing_ns for each in found]

    assert spent_ms * MS == pytest.approx(sum(computing_ns) / 4)
    assert computing_ns == sorted(computing_ns)
    assert max(8, spent_ms) * MS == pytest.approx(sum(e.own_ns for e in found) / 4)


def test_more_own_time_is_time_that_waits():
    """The processor time was measured."""
    found = Behaviour(1, (Step((), 4 * MS), Step((), 0, 4 * MS))).longer(2 * MS)

    assert [(4, 1), (0, 5)] == [
        (step.computing_ns / MS, step.waiting_ns / MS) for step in found.steps
    ]


def test_an_execution_that_begins_at_once_is_one_of_the_closed_loop():
    """The second request waits for the first, and its instance need not wake up."""
    slow, fast = (CalibratedModel(config("m"), {1: [waits(ms)]}) for ms in (5, 4))
    closed = Calibration("m", TRITON, {"m": fast}, 2.0)
    found = replace(closed, models={"m": slow}, crowded=closed)
    again = open_loop(found.simulation(), "m", [0, MS, 20 * MS])
    batches = replace(slow, by_size={1: [waits(5)], 2: [waits(6)]})
    other = replace(found, crowded=replace(closed, models={"m": batches}))

    assert [5, 8, 5] == [(each.ended_ns - each.began_ns) / MS for each in again.every]
    assert 9_000 == open_loop(other.simulation(), "m", [0, MS]).latencies_us.max()


def test_clients_cost_less_while_no_processor_is_idle():
    """The second request comes while the only processor computes for the first."""
    free = CalibratedModel(config("m", 2), {1: [waits(5)]})
    costs = (Frontend(computing_ns=ms * MS) for ms in (1, 2))
    closed, found = (
        Calibration("m", TRITON, {"m": free}, 1.0, frontend=each) for each in costs
    )
    both = replace(found, crowded=closed)
    again = open_loop(both.simulation(), "m", [0, MS // 2, 20 * MS])

    assert [7, 7.5, 7] == [(each.ended_ns - each.began_ns) / MS for each in again.every]
