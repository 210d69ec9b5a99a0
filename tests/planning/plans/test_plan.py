"""What a plan compares, how that is judged, and what it says."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from asserting import every
from cells import CONFIG, DOUBLE, cell

from blsnb.errors import BlsnbError
from blsnb.planning.calibration import (
    HERE,
    TRITON,
    CalibratedModel,
    Calibration,
    Reproduction,
    by_size,
)
from blsnb.planning.fitting import Loop, fitted, reproduction
from blsnb.planning.judgement import CORES, judge
from blsnb.planning.options import Option, options
from blsnb.planning.plans.plan import Plan
from blsnb.planning.plans.plan_text import ranges
from blsnb.planning.plans.planner import planned
from blsnb.planning.search import search
from blsnb.planning.simulation.behaviour import Behaviour, Step
from blsnb.planning.simulation.loads import Kind, Mix
from blsnb.request_fields import RequestFields

from ..configs import MS, computes, config, waits

X = {"X": np.ones(2, np.float32)}
BATCHING = "max_batch_size: 8 dynamic_batching { max_queue_delay_microseconds: 2000 }"


def observed(name, *executions, count=1, more=""):
    """Return a calibrated model with one execution of each size."""
    sizes = {each.size: [each] for each in executions}
    return CalibratedModel(config(name, count, more), sizes)


def calibration(*models, cores=8.0):
    """Return a calibration; the first model is the one that clients call."""
    named = {model.config.name: model for model in models}
    return Calibration(models[0].config.name, HERE, named, cores)


def configs_of(found):
    """Return the configurations of a calibration."""
    return {name: model.config for name, model in found.models.items()}


def test_a_batch_between_observed_sizes_takes_a_time_between():
    """Beyond them it lies on the same line, and is marked."""
    model = observed("m", waits(2), waits(6, 3), waits(10, 5))
    drawn = {
        size: model.draw(size, random.Random(0)).own_ns / MS for size in (1, 2, 4, 7)
    }

    assert {1: 2, 2: 4, 4: 8, 7: 14} == pytest.approx(drawn)
    assert [7] == model.unmeasured([1, 2, 4, 5, 7])


def test_an_unobserved_batch_size_is_proportional_to_the_only_observed_one():
    """Nothing says that it is less; a judgement names it."""
    found = calibration(observed("m", waits(2), more=BATCHING))
    judged = judge(found, None, 800, 200)

    assert 6 == pytest.approx(found.models["m"].draw(3, random.Random(0)).own_ns / MS)
    assert every(2 <= size <= 8 for size in judged.extrapolated["m"])


def test_large_numbers_are_written_out(few_requests):
    """Without an exponent."""
    found = calibration(observed("m", waits(2)))
    found = replace(found, reproductions=(Reproduction(0, 1, 1, 1_234.5, 1_234.5),))
    plan = planned(found, options(configs_of(found), {}, {}, {}), [4_000], 60_000)
    text = str(plan)

    assert "e+" not in text
    assert "No configuration holds the load: the best one answers 50" in text
    assert "at most 1,234 requests/s were measured" in text


def test_neighbouring_batch_sizes_are_a_range():
    """Two of them are not."""
    assert "2, 4, 5, 7 to 16" == ranges([2, 4, 5, *range(7, 17)])


def test_all_combinations_are_compared():
    """Their configurations are those of Triton; the cheapest come first."""
    found = calibration(observed("p", waits(1)), observed("a", waits(1), more=BATCHING))
    compared = options(
        configs_of(found), {"p": [2, 1], "a": [1, 3]}, {"a": [0, 500]}, {"a": [4]}
    )
    first = compared[0].configs

    assert [2, 2, 3, 3, 4, 4, 5, 5] == [option.cost for option in compared]
    assert [1, 1] == [len(first[name].instance_names()) for name in ("p", "a")]
    assert {0, 500} == {
        each.configs["a"].message.dynamic_batching.max_queue_delay_microseconds
        for each in compared
    }
    assert every(4 == each.configs["a"].max_batch_size for each in compared)


def test_an_unknown_model_is_refused():
    """The text names those of the request."""
    found = calibration(observed("p", waits(1)), observed("a", waits(1)))

    with pytest.raises(ValueError, match="reaches no model 'b', only a, p"):
        options(configs_of(found), {"b": [1]}, {}, {})


def test_too_many_combinations_are_refused():
    """The limit is part of the text."""
    found = calibration(observed("p", waits(1)), observed("a", waits(1)))

    configs, hundred = configs_of(found), range(1, 101)

    assert 2_000 == len(options(configs, {"p": range(1, 21), "a": hundred}, {}, {}))
    with pytest.raises(ValueError, match="2,100 configurations; expected at most 2,0"):
        options(configs, {"p": range(1, 22), "a": hundred}, {}, {})


def test_the_busiest_part_is_the_bottleneck():
    """A model with too few instances, or the processors."""
    child = Behaviour(1, (Step((), 0, MS, "a"), Step((0,), 0, MS)))
    waiting = calibration(observed("p", child, count=8), observed("a", waits(8)))
    computing = calibration(observed("p", computes(8), count=8), cores=1)

    one, other = judge(waiting, None, 100, 2_000), judge(computing, None, 100, 2_000)

    assert ("a", CORES) == (one.bottleneck, other.bottleneck)
    assert 0.8 == pytest.approx(one.models["a"].use, abs=0.03)
    assert 0.8 == pytest.approx(other.cores_use, abs=0.03)
    assert 1.0 == one.models["a"].calls
    assert one.is_held
    assert not judge(waiting, None, 200, 2_000).is_held


def test_a_calibration_names_its_models_and_its_world():
    """The model that clients ask first."""
    found = calibration(observed("m", waits(10)), observed("child", waits(1)))

    world = "this kernel with its one interpreter lock"
    assert f"<Calibration of m for {world}: m, child>" == repr(found)


DIFF = """\
--- m/config.pbtxt
+++ m/config.pbtxt
@@ -3,3 +3,3 @@
   name: "m"
-  count: 1
+  count: 2
   kind: KIND_CPU"""


def test_the_cheapest_configuration_that_holds_is_found():
    """Two instances of 10 ms hold 150 requests/s, one does not."""
    found = calibration(observed("m", waits(10)))
    compared = options(configs_of(found), {"m": range(1, 9)}, {}, {})
    plan = planned(found, compared, [150], 60_000)

    assert plan.holds
    assert 2 == plan.best.option.settings["m"].instances
    assert 8 == len(plan.judged)
    assert 3 == len(plan.table()[1])
    assert "8 configurations, the best 3 with 20,000 requests, simulated" in str(plan)
    assert 20_000 == plan.best.requests
    assert DIFF == plan.diff()
    assert plan.more["m"].p99_us < plan.best.judgement.p99_us
    assert "One more instance of m" in str(plan)
    assert "<Plan m at 150/s: m 2 instances, p99" in repr(plan)
    assert 7 == len(plan.curve) == len(plan.plot().axes[0].lines[0].get_xdata())
    assert 5_000 == plan.more["m"].calls
    assert [2_000] * 4 + [20_000] + [2_000] * 2 == [each.calls for each in plan.curve]


def test_a_plan_reports_its_progress(few_requests):
    """Its calibration is a third of the work."""
    found = calibration(observed("m", waits(10)))
    compared = options(configs_of(found), {"m": [1, 2]}, {}, {})
    told = []
    planned(found, compared, [20], 60_000, report=lambda *now: told.append(now))
    shares = [share for share, _ in told]

    assert 0.3 < shares[0] < 0.9
    assert 0.9 == pytest.approx(shares[-2])
    assert sorted(shares) == shares
    assert ["simulating"] * (len(told) - 1) + ["done"] == [words for _, words in told]
    assert 1.0 == shares[-1]


def test_one_more_instance_is_one_on_each_gpu(few_requests):
    """As the count of an instance group is; both GPUs had half of the instances."""
    group = 'instance_group { name: "m" kind: KIND_GPU count: 2 gpus: [0, 1] }'
    model = CalibratedModel(config("m", 0, group), {1: [waits(10)]})
    found = calibration(model)
    plan = planned(found, options({"m": model.config}, {}, {}, {}), [200.0], 1e6)

    assert 0.5 == pytest.approx(plan.best.at_most.models["m"].use, rel=0.1)
    assert 2 / 6 == pytest.approx(plan.more["m"].models["m"].use, rel=0.1)
    assert "One more instance of m on each GPU: p99" in "\n".join(plan.findings)


@pytest.mark.parametrize(
    ("gpus", "words"), [("[0]", ""), ("[0, 1]", " (2 on each GPU)")]
)
def test_instances_on_several_gpus_are_counted_together(few_requests, gpus, words):
    """As Triton makes them: the count of the group on each GPU."""
    group = f'instance_group {{ name: "m" kind: KIND_GPU gpus: {gpus} }}'
    model = CalibratedModel(config("m", 0, group), {1: [waits(10)]})
    compared = options({"m": model.config}, {"m": [2]}, {}, {})
    plan = planned(calibration(model), compared, [50.0], 1e6)
    [row] = plan.table()[1]
    total = {"[0]": 2, "[0, 1]": 4}[gpus]

    assert (f"m {total} instances{words}", f"{total}") == row[:2]
    assert f": m {total} instances{words}, p99 " in repr(plan)
    assert f"m {total} instances{words}" == plan.changes(["m"])


def test_an_idle_load_has_no_bottleneck(few_requests):
    """More instances would not bring anything either."""
    found = calibration(observed("m", waits(0.01)))
    plan = planned(found, options(configs_of(found), {}, {}, {}), [5], 60_000)

    assert "There is no bottleneck: all instances and processors are idle" in str(plan)
    assert {} == plan.more
    assert "One more instance" not in str(plan)


def test_a_load_that_nothing_holds_is_said(few_requests):
    """The fastest configuration comes first."""
    found = calibration(observed("m", waits(10)))
    compared = options(configs_of(found), {"m": [1, 2]}, {}, {})
    plan = planned(found, compared, [500], 60_000)

    assert not plan.holds
    assert 2 == plan.best.option.settings["m"].instances
    assert repr(plan).startswith("<Plan m at 500/s: not held: m 2 instances, p99 ")
    assert [("m 2 instances", "2", "no"), ("m 1 instance", "1", "no")] == [
        (name, cost, held) for name, cost, *_, held in plan.table()[1]
    ]
    assert "holds the load: the best one answers 200 of 500 requests/s" in str(plan)
    with pytest.raises(
        BlsnbError,
        match=r"Plan again with more instances, a longer p99 or a lower " r"rate\.$",
    ):
        plan.apply()


def test_a_configuration_without_changes_is_named_so(few_requests):
    """It is the one that the models have now."""
    found = calibration(observed("m", waits(10)))
    plan = planned(found, options(configs_of(found), {}, {}, {}), [50], 60_000)
    head, [(name, cost, p50, p99, answered, busiest, held)] = plan.table()

    assert (
        *("configuration", "instances", "p50", "p99"),
        *("answered/s", "busiest", "holds"),
    ) == head
    assert ("as configured", "1", "yes") == (name, cost, held)
    assert every(each.endswith(" ms") for each in (p50, p99))
    assert busiest.startswith("m ")
    assert 50 == pytest.approx(float(answered), rel=0.05)
    assert "<Plan m at 50/s: as configured, p99 " in repr(plan)


def test_a_plan_holds_over_all_of_its_rates():
    """A long delay pays at a high rate, but a lone request waits for all of it."""
    sizes = [waits(8, size) for size in (1, 2, 4, 8)]
    found = calibration(observed("m", *sizes, more=BATCHING))
    compared = options(configs_of(found), {}, {"m": [0, 60_000]}, {"m": [8]})
    judging = partial(judge_roughly, found)
    alone, both = (
        search(compared, judging, rates, 50_000) for rates in ([5], [5, 400])
    )
    [slow] = [each for each in both if not each.holds(50_000)]
    plan = Plan(found, (5, 400), 50_000, tuple(both), both[0].at, {})

    assert [0, 0] == [each[0].option.settings["m"].delay_us for each in (alone, both)]
    assert [5, 400] == [each.rate for each in plan.best.at]
    assert 5 == slow.judgement.rate
    assert slow.at_most.p99_us < 50_000
    assert "m at 5 to 400 requests/s" in str(plan)
    assert "slowest at" in str(plan)


def judge_roughly(found, option, rate, requests):
    """Judge with a hundredth of the requests, at least 30."""
    return judge(found, option, rate, max(30, requests // 100))._replace(
        answered_rate=rate
    )


def test_many_rates_are_judged_with_fewer_requests_each():
    """A plan over fifty rates takes about as long as one over five."""
    counts = {}

    def judging(option, rate, requests):
        counts.setdefault(rate, []).append(requests)
        return judge(found, option, rate, 20)

    found = calibration(observed("m", waits(1)))
    search([Option({}, {}, 1)], judging, range(10, 60), 1e6)

    assert [3_000, 1_000] == counts[10]
    assert [300, 3_000, 20_000] == counts[59]
    assert every([1_000] == counts[rate] for rate in range(11, 59))


def test_options_that_only_seem_to_hold_do_not_hide_those_that_do():
    """The search continues with the next ones until the best are judged exactly."""

    def judging(option, rate, requests):
        # With few requests the overload of a cheap option is not seen.
        holds = option.cost >= 30 or requests < 3_000
        return found._replace(answered_rate=rate if holds else 0.5 * rate)

    observation = calibration(observed("m", waits(1)))
    found = judge(observation, None, 100, 50)
    compared = [Option({}, {}, cost) for cost in range(40)]
    judged = search(compared, judging, [100], 1e6)

    assert 30 == judged[0].option.cost
    assert judged[0].holds(1e6)


def test_a_search_that_finds_nothing_ends():
    """Its limit is twice the requests of a search that finds something at once."""
    sent = []

    def judging(option, rate, requests):
        sent.append(requests)
        return found._replace(answered_rate=1e4 / requests)

    observation = calibration(observed("m", waits(1)))
    found = judge(observation, None, 100, 50)
    judged = search([Option({}, {}, 1) for _ in range(100)], judging, [100], 1e6)

    assert judged[0].is_final
    assert not judged[0].holds(1e6)
    assert sum(sent) < 2 * (100 * 300 + 3 * 23_000) + 3 * 23_000


def test_a_search_judges_few_options_exactly():
    """The others are simulated with fewer requests."""
    simulated = []

    def judging(option, rate, requests):
        simulated.append(requests)
        return judge(found, option, rate, 50)

    found = calibration(observed("m", waits(10)))
    compared = [Option({}, {}, cost) for cost in range(500)]
    shares = []
    judged = search(compared, judging, [100], 1e6, shares.append)

    assert {300: 500, 3_000: 3, 20_000: 3} == {
        each: simulated.count(each) for each in set(simulated)
    }
    assert list(range(500)) == [each.option.cost for each in judged]
    assert 1.0 == shares[-1]
    assert shares == sorted(shares)


def test_the_number_of_processors_is_fitted_to_a_loop():
    """Four clients of 5 ms on one interpreter make 200 requests/s, not 800."""
    models = {"m": observed("m", computes(5), count=4)}
    loops = [Loop(1, 5_000, 200), Loop(4, 20_000, 200)]
    found = fitted("m", HERE, models, loops, 4)

    assert 1 == pytest.approx(found.cores, rel=0.02)
    assert [0, 0] == pytest.approx(
        [each.error for each in found.reproductions], abs=0.03
    )


def test_a_loop_is_reproduced_with_requests_of_one_priority():
    """As it was measured, whatever the planned load has."""
    more = "max_batch_size: 1 dynamic_batching { priority_levels: 2 }"
    models = {"m": observed("m", waits(5), more=more)}
    mix = Mix(tuple(Kind(0.5, RequestFields(priority=each)) for each in (1, 2)))
    found = fitted("m", HERE, models, [Loop(4, 20_000, 200)], 2, mix)

    assert 0 == pytest.approx(found.reproductions[0].error, abs=0.02)


def test_processors_are_not_fitted_below_what_a_loop_needs():
    """A model that waits is as fast on all of them."""
    models = {"m": observed("m", waits(5), count=4)}
    found = fitted("m", HERE, models, [Loop(4, 5_000, 790)], 2)

    assert 790 == pytest.approx(found.reproductions[0].simulated_rate, rel=0.02)


@pytest.mark.parametrize("measured_ms", [33, 61])
def test_a_loop_of_batches_with_a_delay_has_the_state_that_was_measured(measured_ms):
    """Four clients stay together, or in turns: the real server 2.51 did both."""
    more = "max_batch_size: 4 dynamic_batching { max_queue_delay_microseconds: 5000 }"
    batches = [waits(30, size) for size in (1, 2, 3, 4)]
    model = CalibratedModel(config("m", more=more), by_size(batches))
    found = Calibration("m", TRITON, {"m": model}, 2.0)

    again = reproduction(found, Loop(4, measured_ms * 1_000, 1))

    assert 0 == pytest.approx(again.error, abs=0.1)
    assert "It is 30 ms or 60 ms by chance" in str(again)


def test_a_loop_with_one_state_says_nothing_of_chance():
    """A model without batches."""
    found = Calibration("m", TRITON, {"m": observed("m", waits(5))}, 2.0)

    again = reproduction(found, Loop(4, 20_000, 200))

    assert str(again).endswith("measured were 20 ms (+0%).")


@pytest.mark.parametrize("seed", [1, 2])
def test_the_same_seed_gives_the_same_plan(seed, few_requests):
    """Text and figures."""
    found = calibration(observed("m", waits(10)))
    compared = options(configs_of(found), {"m": [1, 2]}, {}, {})
    one, again = (planned(found, compared, [120], 60_000, seed=seed) for _ in range(2))

    assert str(one) == str(again)


def test_a_calibration_of_a_server_has_what_a_request_reaches(server, few_requests):
    """Own work of each model, its calls, and batches of a batching model."""
    double = """
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        inputs = [pb_utils.get_input_tensor_by_name(r, "X") for r in requests]
        return [
            pb_utils.InferenceResponse([pb_utils.Tensor("Y", x.as_numpy() * 2)])
            for x in inputs
        ]
"""
    batched = (
        'max_batch_size: 4 input { name: "X" data_type: TYPE_FP32 dims: 2 } '
        'output { name: "Y" data_type: TYPE_FP32 dims: 2 } '
        "dynamic_batching { max_queue_delay_microseconds: 2000 }"
    )
    server.define("net", double, config=batched)
    plan = server.plan(
        "net",
        {"X": np.ones((1, 2), np.float32)},
        rate=20,
        p99_ms=1e4,
        instances={"net": [1, 2]},
        requests=5,
        duration_s=0.2,
    )
    model = plan.calibration.models["net"]

    assert plan.holds
    assert 1 == plan.best.option.settings["net"].instances
    assert 1 in model.sizes
    assert max(model.sizes) > 1
    assert [1, 4] == [each.clients for each in plan.calibration.reproductions]


ENSEMBLE = """
platform: "ensemble"
input { name: "X" data_type: TYPE_FP32 dims: 2 }
output { name: "Y" data_type: TYPE_FP32 dims: 2 }
ensemble_scheduling {
  step {
    model_name: "double"
    model_version: -1
    input_map { key: "X" value: "X" }
    output_map { key: "Y" value: "Y" }
  }
}
"""


def test_an_ensemble_is_observed_with_its_steps(server, few_requests):
    """It costs no instance."""
    server.define("double", DOUBLE, config=CONFIG)
    server.define("e", "", config=ENSEMBLE)
    plan = server.plan("e", X, rate=20, p99_ms=1e4, requests=3, duration_s=0.1)
    behaviours = plan.calibration.models["e"].by_size[1]

    assert ["double", ""] == [step.model for step in behaviours[0].steps]
    assert 1 == plan.best.option.cost


def test_numbers_of_a_plan_may_be_those_of_numpy(server, few_requests):
    """Or whole floats; the seed is the same number."""
    server.define("double", DOUBLE, config=CONFIG)
    load = {"rate": np.float32(20), "p99_ms": np.int64(10_000), "requests": 3.0}
    plan = server.plan("double", X, seed=np.int64(7), cores=np.int8(2), **load)

    assert [7, 2] == [plan.seed, plan.cores]
    assert [5] == [len(plan.run(number).trace.roots) for number in (np.int64(5),)]
    assert ", 5 calls, 1 model>" == repr(plan.run(5.0)).split("ms", 1)[1]


@pytest.mark.parametrize("target", ["here", "triton"])
@pytest.mark.parametrize(
    ("more", "what"),
    [
        ("response_cache { enable: true }", "response caches"),
        ("sequence_batching { iterative_sequence: true }", "iterative sequences"),
    ],
)
def test_what_is_not_simulated_is_refused(server, target, more, what):
    """The text names the model; no real server has started."""
    server.define("double", DOUBLE, config=f"{CONFIG} {more}")
    load = {"rate": 20, "p99_ms": 1e4, "sequence_lengths": [1], "target": target}
    whole = {"correlation_id": 1, "sequence_start": True, "sequence_end": True}

    with pytest.raises(BlsnbError, match=f"model 'double': a plan does not.* {what} y"):
        server.plan("double", X, **load, **whole)


def test_what_only_later_requests_reach_is_refused_as_well(server):
    """A model need not call the same ones each time."""
    source = cell(
        """
        self.count = getattr(self, "count", 0) + 1
        if self.count > 5:
            ask("cached", request).exec()
        return [reply(x_of(request))]
        """
    )
    cached = f"{CONFIG} response_cache {{ enable: true }}"
    server.define("cached", DOUBLE, config=cached)
    server.define("caller", source, config=CONFIG)

    with pytest.raises(BlsnbError, match="model 'cached': a plan does not simulate"):
        server.plan("caller", X, rate=20, p99_ms=1e4, duration_s=0.1)


@pytest.mark.parametrize("name", ["stream", "caller"])
def test_a_decoupled_model_on_a_real_server_is_refused(server, name):
    """Whether clients or other models call it."""
    decoupled = "model_transaction_policy { decoupled: true }"
    stream = "request.get_response_sender().send(reply(x_of(request)), flags=1)"
    server.define("stream", cell(stream), config=f"{CONFIG} {decoupled}")
    call = "list(ask('stream', request).exec(decoupled=True))"
    source = cell(f"{call}; return [reply(x_of(request))]")
    server.define("caller", source, config=CONFIG)
    refused = "model 'stream': a plan for a real server does not observe decoupled mode"

    with pytest.raises(BlsnbError, match=refused):
        server.plan(name, X, rate=20, p99_ms=1e4, target="triton")


@pytest.mark.parametrize("strategy", ["oldest", "direct"])
def test_the_delay_of_sequences_is_that_of_their_strategy(strategy):
    """A model with sequences has no dynamic batcher."""
    more = f"max_batch_size: 8 sequence_batching {{ {strategy} {{ }} }}"
    found = calibration(observed("m", waits(1), more=more))
    [option] = options(configs_of(found), {}, {"m": [500]}, {"m": [4]})
    message = option.configs["m"].message
    batching = getattr(message.sequence_batching, strategy)

    assert 500 == batching.max_queue_delay_microseconds
    assert not message.HasField("dynamic_batching")
    assert 4 == message.max_batch_size
