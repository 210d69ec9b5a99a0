"""One request of an ensemble: its calls in order, their inputs, and the responses."""

from __future__ import annotations

import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model.ensembles import DECOUPLED, IO, ensemble, ins, model, optional, outs, step

from blsnb.engine.scheduling.ensembles.calls import EnsembleError, Sequence
from blsnb.engine.scheduling.ensembles.run import EnsembleRun
from blsnb.request_fields import SEQUENCE_END, SEQUENCE_START

from ..ensemble_runs import Player, held, plan, plan_of

TWO = (step("a", made="Y=Y1"), step("b", made="Y=Y2"))
TWO_OUT = ins() + outs("Y1") + outs("Y2")
CHAIN = (step("a", made="Y=A"), step("b", given="X=A"))
DEADLOCK = (
    "in ensemble 'm', [request id: <id_unknown>] unexpected deadlock, at least one "
    "output is not set while no more ensemble steps can be made",
    "INVALID_ARG",
)


def shapes(player):
    return [each.shape for call in player.called for each in call.inputs]


# Steps -----------------------------------------------------------------------


def test_a_step_follows_the_one_that_it_needs() -> None:
    """It receives the other's output under its own names."""
    player = Player(plan(*CHAIN))

    assert [0] == player.steps
    player.take("a", {"Y": "made"})
    assert [0, 1] == player.steps
    assert [("X", "made", (1,))] == list(map(tuple, player.called[1].inputs))
    player.take("b", {"Y": "y"})
    assert [{"Y": "y"}, "final"] == player.answers
    assert 0 == player.run.in_flight


def test_independent_steps_are_called_together() -> None:
    """Their order is that of the configuration; the response waits for both."""
    player = Player(plan(*TWO, io=TWO_OUT))

    assert [0, 1] == player.steps
    player.take("b", {"Y": 2})
    assert [] == player.answers
    player.take("a", {"Y": 1})
    assert [{"Y2": 2, "Y1": 1}, "final"] == player.answers
    assert ["Y2", "Y1"] == list(player.answers[0])


def test_a_response_is_sent_while_other_steps_run() -> None:
    """A step without requested outputs may end later, and the flag comes alone."""
    steps = (step("a", made="Y=Y1 Z=B"), step("b", "X=B", "Y=Y2 Z=Y3"))
    player = Player(
        plan(*steps, io=TWO_OUT + outs("Y3"), more=DECOUPLED), outputs={"Y1", "Y3"}
    )

    player.take("a", {"Y": 1, "Z": 2})
    player.take("b", {"Y": 3, "Z": 4}, final=False)
    assert [{"Y1": 1, "Y3": 4}] == player.answers
    player.take("b")
    assert [{"Y1": 1, "Y3": 4}, "final"] == player.answers


def test_steps_without_requested_outputs_are_not_called() -> None:
    """Their outputs are not in the response."""
    player = Player(plan(*TWO, io=TWO_OUT), outputs={"Y2"})
    player.play()

    assert [1] == player.steps
    assert [{"Y2": "1.Y(X=x)"}, "final"] == player.answers


def test_the_flag_may_follow_a_response() -> None:
    """A lone flag does not mean that a tensor is missing."""
    player = Player(plan(step("a")))
    player.take("a", {"Y": 1}, final=False)
    player.take("a")

    assert [{"Y": 1}, "final"] == player.answers


def test_a_tensor_is_released_by_its_last_consumer() -> None:
    """Tensors without consumers are released at once."""

    class Large:
        pass

    value = Large()
    alive = weakref.ref(value)
    run = EnsembleRun(plan(*CHAIN), {"X": held(value)}, {"Y"})
    (call,) = run.start().calls
    del value
    assert alive() is not None
    del call
    assert alive() is None


@pytest.mark.parametrize("outputs", [{"Y1"}, {"Y2"}])
def test_too_much_left_out_is_a_deadlock(outputs: set[str]) -> None:
    """A needed output was not requested; the text is Triton's."""
    steps = (step("a", made="Y=Y1"), step("b", "X=Y1", "Y=Y2"))
    player = Player(plan(*steps, io=TWO_OUT), outputs=outputs)

    assert [DEADLOCK, "final"] == player.answers
    assert [] == player.steps


def test_a_decoupled_ensemble_knows_no_deadlock() -> None:
    """It may have no response but a lone flag."""
    steps = (step("a", made="Y=Y1"), step("b", "X=Y1", "Y=Y2"))
    planned = plan(*steps, io=TWO_OUT, more=DECOUPLED)

    assert ["final"] == Player(planned, outputs={"Y1"}).answers


def test_outputs_that_are_not_mapped_are_ignored() -> None:
    """A model may send outputs that were not requested."""
    player = Player(plan(step("a")))
    player.take("a", {"Y": 1, "Z": 2})

    assert [{"Y": 1}, "final"] == player.answers


# What is left out ------------------------------------------------------------


def test_an_optional_input_that_did_not_come_is_not_passed() -> None:
    """The step is called, and its model decides."""
    planned = plan(
        step("a", "X=X Z=Z"),
        io=IO + optional("Z"),
        models={"a": model(IO, ins("Z"))},
    )

    assert ["X"] == [each.name for each in Player(planned).called[0].inputs]
    both = Player(planned, {"X": "x", "Z": "z"})
    assert ["X", "Z"] == [each.name for each in both.called[0].inputs]


def test_an_output_that_is_left_out_is_not_passed_on() -> None:
    """The next step is called without it."""
    player = Player(plan(*CHAIN))
    player.take("a", {})

    assert () == player.called[1].inputs


def test_an_output_that_is_left_out_is_not_in_the_response() -> None:
    """The response has the others, or none."""
    player = Player(plan(step("a", made="Y=Y1 Z=Y2"), io=TWO_OUT))
    player.take("a", {"Z": 2})

    assert [{"Y2": 2}, "final"] == player.answers
    alone = Player(plan(step("a")))
    alone.take("a", {})
    assert [{}, "final"] == alone.answers


# Errors ----------------------------------------------------------------------


@pytest.mark.parametrize("waits", [True, False])
def test_an_error_of_a_step_ends_the_request(waits: bool) -> None:
    """The code stays, and the text begins with the ensemble's name."""
    player = Player(plan(*CHAIN), waits_with_errors=waits)
    player.take("a", error="no luck")

    assert [("in ensemble 'm', no luck", "INTERNAL"), "final"] == player.answers
    assert player.run.failed


def test_an_error_waits_for_running_steps() -> None:
    """Their outputs are unused, and a second error is not reported."""
    player = Player(plan(*TWO, io=TWO_OUT))
    player.take("a", error="no luck")

    assert [] == player.answers
    player.take("b", error="nor here")
    assert [("in ensemble 'm', no luck", "INTERNAL"), "final"] == player.answers


def test_an_error_does_not_wait_in_older_releases() -> None:
    """Running calls end without effect."""
    player = Player(plan(*TWO, io=TWO_OUT), waits_with_errors=False)
    player.take("a", error="no luck")

    assert [("in ensemble 'm', no luck", "INTERNAL"), "final"] == player.answers
    player.take("b", {"Y": 2})
    assert 2 == len(player.answers)
    assert 0 == player.run.in_flight


def test_no_step_is_called_after_an_error() -> None:
    """Its inputs may be complete."""
    steps = (*TWO, step("c", "X=Y2", "Y=Y3"))
    player = Player(plan(*steps, io=TWO_OUT + outs("Y3")))
    player.take("a", error="no luck")
    player.take("b", {"Y": 2})

    assert [0, 1] == player.steps


def test_a_call_that_was_not_started_is_dropped() -> None:
    """The error of another call may come first."""
    player = Player(plan(*TWO, io=TWO_OUT))
    player.take("a", error="full")
    player.waiting.pop()
    player.note(player.run.drop())

    assert [("in ensemble 'm', full", "INTERNAL"), "final"] == player.answers


def test_a_refused_call_starts_none_of_those_that_are_ready() -> None:
    """Requests are checked before they are queued; the first refusal counts."""

    def refuse(call):
        name = call.step.model
        return None if name == "a" else EnsembleError(f"bad shape for '{name}'")

    steps = (*TWO, step("c", made="Y=Y3"))
    player = Player(plan(*steps, io=TWO_OUT + outs("Y3")), refuse=refuse)

    assert [] == player.steps
    assert [("in ensemble 'm', bad shape for 'b'", "INVALID_ARG"), "final"] == (
        player.answers
    )


# Batches ---------------------------------------------------------------------

BATCH = "max_batch_size: 4"


def test_a_batch_of_one_passes_through_a_model_without_batches() -> None:
    """The axis is removed for the model and added again."""
    player = Player(
        plan(*CHAIN, more=BATCH, models={"b": model(IO, BATCH)}),
        {"X": held("x", 1, 2)},
        batch_size=1,
    )
    player.take("a", {"Y": held("y", 2)})
    progress = player.run.take(player.waiting.pop(), {"Y": held("y", 1, 2)})

    assert [(2,), (1, 2)] == shapes(player)
    assert [(1, 2)] == [each.shape for each in progress.response.outputs]


def test_the_batch_size_is_that_of_the_step() -> None:
    """A model with batches in an ensemble without: two rows make two rows."""
    planned = plan(
        step("a"),
        io=ins(dims="-1, 2") + outs(),
        models={"a": model(ins(dims="2"), outs(), BATCH)},
    )
    player = Player(planned, {"X": held("x", 2, 2)})
    progress = player.run.take(player.waiting.pop(), {"Y": held("y", 2, 1)})

    assert [(2, 2)] == shapes(player)
    assert [(2, 1)] == [each.shape for each in progress.response.outputs]


def test_a_single_tensor_passes_through_a_model_with_batches() -> None:
    """The axis is added for the model and removed again."""
    player = Player(
        plan(step("a"), models={"a": model(IO, BATCH)}), {"X": held("x", 3)}
    )
    progress = player.run.take(player.waiting.pop(), {"Y": held("y", 1, 3)})

    assert [(1, 3)] == shapes(player)
    assert [(3,)] == [each.shape for each in progress.response.outputs]


# Sequences -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "starts", "ends"),
    [(0, False, False), (SEQUENCE_START, True, False), (SEQUENCE_END, False, True)],
)
def test_the_fields_of_a_sequence_go_from_step_to_step(flags, starts, ends) -> None:
    """The response has them for each output, and a step may change them."""
    player = Player(plan(*CHAIN), sequence=Sequence(7, SEQUENCE_START))
    player.take("a", {"Y": 1}, sequence=Sequence(8, flags))
    progress = player.run.take(player.waiting.pop(), {"Y": held(2)})

    assert [(7, SEQUENCE_START), (8, flags)] == [
        tuple(call.sequence) for call in player.called
    ]
    assert (
        ("sequence_id", 8),
        ("sequence_start", starts),
        ("sequence_end", ends),
    ) == progress.response.parameters


def test_a_response_without_outputs_has_no_sequence_parameters() -> None:
    """A step without inputs has neither start nor end."""
    player = Player(plan(*CHAIN), sequence=Sequence("s", SEQUENCE_START))
    player.take("a", {})
    progress = player.run.take(player.waiting.pop(), {})

    assert Sequence("s") == player.called[1].sequence
    assert () == progress.response.parameters


# Decoupled -------------------------------------------------------------------


def decoupled(*steps: str, **texts: str):
    return Player(plan(*steps, more=DECOUPLED, **texts))


def test_each_response_of_a_decoupled_step_runs_those_behind_it() -> None:
    """Each runs the following steps once; the last carries the final flag."""
    player = decoupled(*CHAIN)
    for value in (1, 2):
        player.take("a", {"Y": value}, final=False)
    player.take("a", final=True)
    player.take("b", {"Y": "one"})
    player.take("b", {"Y": "two"})

    assert [(0, 0), (1, 0), (1, 1)] == [
        (call.step.index, call.iteration) for call in player.called
    ]
    assert [{"Y": "one"}, {"Y": "two"}, "final"] == player.answers


def test_the_final_flag_may_come_alone() -> None:
    """The decoupled step sends its flag alone when no step runs."""
    player = decoupled(step("a"))
    player.take("a", {"Y": 1}, final=False)
    player.take("a")

    assert [{"Y": 1}, "final"] == player.answers
    with_data = decoupled(step("a"))
    with_data.take("a", {"Y": 1}, final=True)
    assert [{"Y": 1}, "final"] == with_data.answers


def test_a_stream_may_have_no_responses() -> None:
    """Only the flag is sent."""
    player = decoupled(*CHAIN)
    player.take("a")

    assert ["final"] == player.answers


def test_responses_of_one_iteration_meet_again() -> None:
    """Of two branches after a decoupled step the slower one responds later."""
    player = decoupled(
        step("a", made="Y=A"),
        step("b", "X=A", "Y=B"),
        step("c", "X=A", "Y=C"),
        step("j", "P=B Q=C"),
        models={"j": model(ins("P"), ins("Q"), outs())},
    )
    player.take("a", {"Y": 1}, final=False)
    player.take("a", {"Y": 2})
    for value in ("b1", "b2"):
        player.take("b", {"Y": value})
    for value in ("c1", "c2"):
        player.take("c", {"Y": value})

    joined = [call for call in player.called if call.step.model == "j"]
    assert [["b1", "c1"], ["b2", "c2"]] == [
        [each.value for each in call.inputs] for call in joined
    ]


def test_an_error_after_responses_comes_last() -> None:
    """Earlier responses remain; later ones are dropped."""
    player = decoupled(step("a"))
    player.take("a", {"Y": 1}, final=False)
    player.take("a", error="dec err", final=False)
    player.take("a", {"Y": 3}, final=False)
    player.take("a")

    assert [{"Y": 1}, ("in ensemble 'm', dec err", "INTERNAL"), "final"] == (
        player.answers
    )


# Any ensemble ----------------------------------------------------------------


@st.composite
def graphs(draw: st.DrawFn):
    """Draw steps without a cycle: the inputs of each step, and all outputs."""
    inputs = [f"I{n}" for n in range(draw(st.integers(1, 3)))]
    tensors, steps = list(inputs), []
    for index in range(draw(st.integers(1, 6))):
        chosen = draw(st.sets(st.sampled_from(tensors), min_size=1, max_size=3))
        made = [f"T{index}_{n}" for n in range(draw(st.integers(1, 2)))]
        steps.append((sorted(chosen), made))
        tensors += made
    used = {name for chosen, _ in steps for name in chosen}
    made = [name for _, names in steps for name in names]
    extra = draw(st.sets(st.sampled_from(made)))
    outputs = [name for name in made if name not in used or name in extra]
    return [name for name in inputs if name in used], steps, outputs


def planned(inputs, steps, outputs):
    texts, models = [], {}
    for index, (chosen, made) in enumerate(steps):
        given = " ".join(f"{name}_in={name}" for name in chosen)
        texts.append(step(f"s{index}", given, " ".join(f"{n}={n}" for n in made)))
        declared = [ins(f"{name}_in") for name in chosen]
        models[f"s{index}"] = model(*declared, *map(outs, made))
    io = "".join([*map(ins, inputs), *map(outs, outputs)])
    return plan_of("name: 'm' " + ensemble(*texts, io=io), models)


def values(inputs, steps):
    """Return the expected value of each tensor."""
    found = {name: name.lower() for name in inputs}
    for index, (chosen, made) in enumerate(steps):
        given = ",".join(f"{name}_in={found[name]}" for name in chosen)
        found |= {name: f"{index}.{name}({given})" for name in made}
    return found


def ancestors(steps, outputs):
    """Return the steps that lead to some outputs."""
    found, names = set(), set(outputs)
    for index, (chosen, made) in reversed(list(enumerate(steps))):
        if names.intersection(made):
            found.add(index)
            names.update(chosen)
    return found


@given(graphs(), st.data())
def test_every_step_runs_once_with_its_inputs(graph, data) -> None:
    """Graph and order of ends are arbitrary."""
    inputs, steps, outputs = graph
    player = Player(planned(*graph), {name: name.lower() for name in inputs})
    player.play(lambda count: data.draw(st.integers(0, count - 1)))
    right = values(inputs, steps)

    assert list(range(len(steps))) == sorted(player.steps)
    assert [{name: right[name] for name in outputs}, "final"] == player.answers


@given(graphs(), st.data())
def test_only_needed_steps_run_and_never_twice(graph, data) -> None:
    """The response is correct, or Triton left out too much and reports it."""
    inputs, steps, outputs = graph
    wanted = data.draw(st.sets(st.sampled_from(outputs), min_size=1))
    player = Player(planned(*graph), {n: n.lower() for n in inputs}, wanted)
    player.play(lambda count: data.draw(st.integers(0, count - 1)))
    right, ways = values(inputs, steps), ancestors(steps, wanted)

    assert len(player.steps) == len(set(player.steps))
    assert set(player.steps) <= ways
    if set(player.steps) == ways:
        assert [{name: right[name] for name in wanted}, "final"] == player.answers
    else:
        assert [DEADLOCK, "final"] == player.answers


@given(graphs(), st.data())
def test_every_request_ends_once(graph, data) -> None:
    """Steps fail, omit outputs or respond: one end, and nothing runs afterwards."""
    inputs, _, _ = graph
    waits = data.draw(st.booleans())
    player = Player(
        planned(*graph),
        {name: name.lower() for name in inputs},
        waits_with_errors=waits,
    )
    while player.waiting:
        name = data.draw(st.sampled_from([c.step.model for c in player.waiting]))
        if data.draw(st.integers(0, 9)) == 0:
            player.take(name, error="no luck")
        else:
            left = next(c for c in player.waiting if c.step.model == name).step.outputs
            player.take(name, {n: n for n in left if data.draw(st.booleans())})

    assert 1 == player.answers.count("final")
    assert "final" == player.answers[-1]
    assert 0 == player.run.in_flight
