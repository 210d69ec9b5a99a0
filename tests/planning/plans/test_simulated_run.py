"""Simulated runs: their calls, their label, their numbers."""

from __future__ import annotations

import pytest
from asserting import every, some
from whole_text import whole

import blsnb
from blsnb.planning.calibration import HERE, CalibratedModel, Calibration
from blsnb.planning.options import Option, options
from blsnb.planning.simulation.behaviour import Behaviour, Step
from blsnb.trace.events import CallFlag
from blsnb.views.documents import document
from blsnb.views.tree import tree

from ..configs import MS, config, ensemble, quick_plan, tensors, waits

PARENT = Behaviour(1, (Step((), 0, MS, "a"), Step((), 0, 0, "a"), Step((0, 1), 0, MS)))
BATCHING = "max_batch_size: 8 dynamic_batching { max_queue_delay_microseconds: 2000 }"


@pytest.fixture
def plan():
    """A plan of a parent that calls a batching child twice at once."""
    models = {
        "p": CalibratedModel(config("p", 2), {1: [PARENT]}),
        "a": CalibratedModel(config("a", 1, BATCHING), {1: [waits(3)], 8: [waits(5)]}),
    }
    found = Calibration("p", HERE, models, 8.0)
    configs = {name: model.config for name, model in models.items()}
    [option] = options(configs, {"a": [1]}, {}, {})
    return quick_plan(found, option, 50.0)


def test_a_simulated_run_has_the_calls_of_its_requests(plan):
    """Each with queue and execution, its batch, its instance, and no tensors."""
    run = plan.run(40)
    trace = run.trace
    children = [span for span in trace.spans if span.parent >= 0]

    assert 40 == len(trace.roots)
    assert 120 == len(trace.spans)
    assert every(2 == len(trace.children[row]) for row in trace.roots)
    assert every(span.instance == "a_0" for span in children)
    assert every(span.flags == CallFlag.ASYNC for span in children)
    assert every(span.batch >= 2 for span in children)
    assert every(trace.batch_mates(span.index) for span in children)
    for span in some(trace.spans):
        times = [ns for _, ns in span.events]
        assert sorted(times) == times
        assert not span.has_tensors


def test_calls_that_follow_at_once_are_not_beside_each_other():
    """The second one begins at the time at which the first one ended."""
    steps = Step((), 0, 0, "a"), Step((0,), 0, 0, "a"), Step((1,), 0)
    models = {
        "p": CalibratedModel(config("p"), {1: [Behaviour(1, steps)]}),
        "a": CalibratedModel(config("a"), {1: [waits(3)]}),
    }
    plan = quick_plan(Calibration("p", HERE, models, 8.0), Option({}, {}, 1))
    _, first, second = plan.run(1).trace.spans

    assert first.request_end_ns == second.request_start_ns
    assert [0, 0] == [first.flags, second.flags]


def test_a_simulated_run_says_so(plan, tmp_path):
    """In its text, its picture, its page, and when it was saved and read again."""
    run = plan.run(1)
    run.save(tmp_path / "run.blsrun")
    again = blsnb.load_run(tmp_path / "run.blsrun")

    for each in (run, again):
        assert repr(each).startswith("<ImportedRun p: simulated, not measured, ")
    for trace in (run.trace, again.trace):
        assert trace.is_simulated
        assert "simulated, not measured" in tree(trace)
        assert "simulated, not measured" in document.html(trace)


def test_a_simulated_run_has_the_models_of_the_plan():
    """With their backends and a version."""
    inputs = tensors(input="X", output="Y")
    whole = ensemble("e", {"a": ("X", "Y")}, inputs).config
    models = {
        "e": CalibratedModel(whole, {1: [Behaviour(1, (Step((), 0),))]}),
        "a": CalibratedModel(config("a", more=inputs), {1: [waits(3)]}),
    }
    option = Option({}, {}, 1)
    plan = quick_plan(Calibration("e", HERE, models, 8.0), option, 50.0)
    found = plan.run(1).trace.models

    assert [("e", 1, "ensemble"), ("a", 1, "python")] == [
        (each.name, each.version, each.backend) for each in found
    ]


def test_a_measured_run_does_not_say_so(server):
    """Its models were executed."""
    from cells import CONFIG, DOUBLE

    server.define("double", DOUBLE, config=CONFIG)
    trace = server.infer("double", {"X": [1.0]}).trace

    assert not trace.is_simulated
    assert "simulated" not in tree(trace)


def test_a_run_is_simulated_at_another_rate(plan):
    """The same seed gives the same times; a higher rate longer queues."""
    one, again, fast = (plan.run(30, rate=rate).trace for rate in (50, 50, 400))

    assert one.end_ns == again.end_ns
    assert fast.end_ns < one.end_ns


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"requests": 0}, "requests=0 is not valid; expected 1 to 100,000"),
        ({"rate": 0}, "rate=0 is not valid; expected more than 0"),
        ({"rate": -1}, "rate=-1 is not valid; expected more than 0"),
        ({"rate": float("nan")}, "rate=nan is not valid; expected more than 0"),
    ],
)
def test_numbers_out_of_range_are_refused(plan, options, text):
    """The text has the limit."""
    with pytest.raises(ValueError, match=whole(text)):
        plan.run(**options)


@pytest.mark.slow
def test_a_hundred_thousand_calls_are_a_page(plan):
    """Calls that it cannot hold are counted."""
    trace = plan.run(34_000).trace

    assert 102_000 == trace.call_count
    assert len(document.html(trace)) < 5_000_000
