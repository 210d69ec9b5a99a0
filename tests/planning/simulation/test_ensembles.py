"""Ensembles in simulated time: the engine decides when a step runs."""

from __future__ import annotations

import pytest

from blsnb.errors import BlsnbError
from blsnb.planning.simulation.behaviour import Behaviour, Step
from blsnb.planning.simulation.loads import Kind, Mix, open_loop
from blsnb.planning.simulation.simulation import SimulatedModel, Simulation
from blsnb.request_fields import SEQUENCE_END, SEQUENCE_START, RequestFields

from ..configs import MS, computes, config, ensemble, model, tensors, waits

XY = tensors(input="X", output="Y")
ENDS = tensors(input="X", output="Y Z")
DECOUPLED = "model_transaction_policy { decoupled: true }"


def requests(models, name, arrivals_ms, **how):
    """Return the requests of clients in the order of their ends, and the simulation."""
    simulation = Simulation(models, 64)
    times_ns = [at * MS for at in arrivals_ms]
    return open_loop(simulation, name, times_ns, Mix(**how)).every, simulation


def latencies(models, name, arrivals_ms, **how):
    """Return the latencies of requests in milliseconds, in the order of their ends."""
    found, _ = requests(models, name, arrivals_ms, **how)
    return [(each.ended_ns - each.began_ns) / MS for each in found]


def test_an_ensemble_has_no_instances():
    """Its requests wait for those of its steps only."""
    models = {
        "e": ensemble("e", {"a": ("X", "Y")}, XY),
        "a": model("a", waits(5), count=3, more=XY),
    }

    assert [5, 5, 5, 10] == latencies(models, "e", [0, 0, 0, 0])


def test_a_step_runs_when_its_own_inputs_are_there():
    """A slow branch does not delay the other one."""
    branches = {"a": ("X", "T"), "b": ("T", "Y"), "c": ("X", "U"), "d": ("U", "Z")}
    models = {
        "e": ensemble("e", branches, ENDS),
        "a": model("a", waits(1), more=XY),
        "b": model("b", waits(20), more=XY),
        "c": model("c", waits(7), more=XY),
        "d": model("d", waits(2), more=XY),
    }
    [request], _ = requests(models, "e", [0])
    starts = {each.model: each.began_ns / MS for each in request.children}

    assert {"a": 0, "c": 0, "b": 1, "d": 7} == starts
    assert 21 == request.ended_ns / MS


def test_a_model_calls_an_ensemble_whose_step_calls_a_model():
    """The calls are nested."""
    inner = Behaviour(1, (Step((), 0, 0, "c"), Step((0,), 0)))
    models = {
        "p": model("p", Behaviour(1, (Step((), 0, MS, "e"), Step((0,), 0, MS)))),
        "e": ensemble("e", {"bls": ("X", "Y")}, XY),
        "bls": model("bls", inner, more=XY),
        "c": model("c", waits(3)),
    }
    [request], _ = requests(models, "p", [0])
    chain = [request]
    while chain[-1].children:
        chain.append(chain[-1].children[0])

    assert ["p", "e", "bls", "c"] == [each.model for each in chain]
    assert 5 == request.ended_ns / MS


def test_the_own_work_of_an_ensemble_is_distributed_among_its_steps():
    """It needs a processor, as the engine does."""
    whole = ensemble("e", {"a": ("X", "T"), "b": ("T", "Y")}, XY)
    observed = Behaviour(1, (Step((), 3 * MS, 0, "a"), Step((0,), 3 * MS), Step((), 0)))
    models = {
        "e": SimulatedModel(whole.config, lambda size, _: observed),
        "a": model("a", waits(1), more=XY),
        "b": model("b", waits(1), more=XY),
    }

    assert [8] == latencies(models, "e", [0])


def test_the_batch_of_an_ensemble_is_that_of_its_steps():
    """A model that does not batch gets its requests alone."""
    drawn = {}

    def sized(name, more):
        def draw(size, _):
            drawn[name] = size
            return waits(1, size)

        return SimulatedModel(config(name, 1, more), draw)

    models = {
        "e": ensemble("e", {"a": ("X", "Y")}, f"max_batch_size: 4 {XY}"),
        "a": sized("a", f"max_batch_size: 8 {XY}"),
    }
    latencies(models, "e", [0], size=3)

    assert {"a": 3} == drawn


@pytest.mark.parametrize("flags", [SEQUENCE_START, SEQUENCE_END, 0])
def test_a_step_has_the_sequence_of_its_ensemble(flags):
    """It begins and ends with it."""
    fields = RequestFields(correlation_id=5, flags=flags)
    models = {
        "e": ensemble("e", {"a": ("X", "Y")}, XY),
        "a": model("a", waits(1), more=XY),
    }
    [request], _ = requests(models, "e", [0], kinds=(Kind(1.0, fields),))

    assert [fields] == [each.fields for each in request.children]


def test_an_error_of_a_step_ends_the_request():
    """Its text names the ensemble, as that of the engine does."""
    full = (
        f"max_batch_size: 1 {XY} dynamic_batching "
        "{ default_queue_policy { max_queue_size: 1 } }"
    )
    models = {
        "e": ensemble("e", {"a": ("X", "T"), "b": ("T", "Y")}, XY),
        "a": model("a", waits(10), more=full),
        "b": model("b", waits(1), more=XY),
    }
    found, _ = requests(models, "e", [0, 1, 2])

    assert "in ensemble 'e', Exceeds maximum queue size" == found[0].error
    assert [2, 11, 21] == [each.ended_ns / MS for each in found]


def test_each_response_of_a_decoupled_step_runs_the_next_step():
    """So the ensemble has as many responses."""
    steps = (
        Step((), 0, 10 * MS, sends=1),
        Step((), 0, 10 * MS, sends=1),
        Step((), 0),
    )
    models = {
        "e": ensemble("e", {"a": ("X", "T"), "b": ("T", "Y")}, f"{XY} {DECOUPLED}"),
        "a": model("a", Behaviour(1, steps), more=f"{XY} {DECOUPLED}"),
        "b": model("b", waits(3), more=XY),
    }
    [request], simulation = requests(models, "e", [0])

    assert 2 == request.responses
    assert (13, 23) == (request.first_ns / MS, request.ended_ns / MS)
    assert 2 == simulation.stations["b"].executions


def test_an_ensemble_without_a_model_is_refused():
    """The text names it."""
    models = {"e": ensemble("e", {"a": ("X", "Y")}, XY), "b": model("b", computes(1))}

    with pytest.raises(
        BlsnbError,
        match=r"ensemble 'e': its model 'a' was not observed; plan a "
        r"request of all outputs$",
    ):
        Simulation(models, 1)
