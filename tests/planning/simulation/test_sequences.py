"""Sequences and streams in simulated time."""

from __future__ import annotations

import random

import numpy as np
import pytest
from engine.scheduling.playing import Stage

from blsnb.planning.simulation.behaviour import (
    SAME_SEQUENCE,
    Behaviour,
    ObservedCall,
    Step,
    behaviour,
)
from blsnb.planning.simulation.loads import Mix, closed_loop, open_loop
from blsnb.planning.simulation.simulation import SimulatedModel, Simulation
from blsnb.request_fields import SEQUENCE_END, SEQUENCE_START, RequestFields

from ..configs import MS, computes, config, model, waits
from .test_simulation import poisson_ms

DIRECT = "sequence_batching { direct { } max_sequence_idle_microseconds: 60000000 }"
OLDEST = (
    "sequence_batching {{ oldest {{ max_candidate_sequences: {} }} "
    "max_sequence_idle_microseconds: 60000000 }}"
)
START, END = SEQUENCE_START, SEQUENCE_END


def test_a_sequence_keeps_its_slot_to_its_end():
    """The next one waits in the backlog; its requests follow one another."""
    simulation = Simulation({"m": model("m", waits(10), more=DIRECT)}, 8)
    found = open_loop(simulation, "m", [0, MS], mix=Mix(lengths=(3,)))

    assert [10, 20, 30, 40, 50, 60] == [each.ended_ns / MS for each in found.every]
    assert [1, 1, 1, 2, 2, 2] == [each.fields.correlation_id for each in found.every]
    assert [START, 0, END] * 2 == [each.fields.flags for each in found.every]


def test_sequences_wait_for_a_slot_as_in_an_m_d_1_queue():
    """Their service time is that of all their requests."""
    simulation = Simulation({"m": model("m", waits(1), more=DIRECT)}, 8)
    times = [round(ms * MS) for ms in poisson_ms(150, 8_000)]
    found = open_loop(simulation, "m", times, mix=Mix(lengths=(4,)))
    begun = [each for each in found.kept if each.fields.flags & START]
    waited = np.mean([each.started_ns - each.queued_ns for each in begun]) / MS

    assert 4 * 0.6 / (2 * 0.4) == pytest.approx(waited, rel=0.06)


@pytest.mark.parametrize(("slots", "latency"), [(1, 40), (2, 20)])
def test_sequences_in_slots_of_one_instance_are_a_batch(slots, latency):
    """With one slot four clients take turns, with two they do in pairs."""
    more = f"max_batch_size: {slots} {DIRECT}"
    simulation = Simulation({"m": model("m", waits(10), more=more)}, 8)
    found = closed_loop(simulation, "m", 4, 200, mix=Mix(lengths=(1,)))

    assert latency == pytest.approx(np.median(found.latencies_us) / 1e3)


def test_the_oldest_sequences_are_candidates():
    """The others wait, however few requests there are."""
    rules = "max_candidate_sequences: 2 max_queue_delay_microseconds: 1000"
    more = (
        f"max_batch_size: 8 sequence_batching {{ oldest {{ {rules} }} "
        "max_sequence_idle_microseconds: 60000000 }"
    )
    simulation = Simulation({"m": model("m", waits(10), more=more)}, 8)
    found = open_loop(simulation, "m", [0] * 40, mix=Mix(lengths=(10,)))

    assert 2 == max(each.batch for each in found.every)
    assert 2 / 0.011 == pytest.approx(found.rate, rel=0.03)


@pytest.mark.parametrize("strategy", [DIRECT, OLDEST.format(3)])
def test_sequences_are_executed_as_on_the_stage_of_the_batcher(strategy):
    """Each at the same time, on the same instance, in the same batch."""
    chance = random.Random(7)
    found = config("m", 2, f"max_batch_size: 2 {strategy}")
    stage = Stage(found, 2)
    simulation = Simulation(
        {"m": SimulatedModel(found, lambda size, _: waits(5, size))}, 8
    )
    times = sorted(chance.sample(range(3_000), 60))
    sequences = [chance.randint(1, 12) for _ in times]
    for number, at_ms in enumerate(times):
        first = sequences[number] not in sequences[:number]
        last = sequences[number] not in sequences[number + 1 :]
        stage.send(
            at_ms,
            str(number),
            sequences[number],
            start=first,
            end=last,
            takes=5,
            inputs=(),
        )
        fields = RequestFields(
            correlation_id=sequences[number], flags=first * START | last * END
        )
        simulation.timeline.at(
            at_ms * MS,
            lambda fields=fields: ended.append(
                simulation.send("m", 1, lambda _: None, None, fields)
            ),
        )
    ended = []
    simulation.timeline.run()
    stage.play(100_000)
    expected = {
        name: (call.at_ms, call.instance)
        for call in stage.calls
        for name in call.names
        if name != "-"
    }

    assert 60 == len(expected)
    assert expected == {
        str(number): (each.started_ns / MS, each.instance)
        for number, each in enumerate(ended)
    }


def test_an_idle_sequence_loses_its_slot():
    """Its next request is refused in Triton's words, and its client gives up."""
    more = "sequence_batching { direct { } max_sequence_idle_microseconds: 5000 }"
    simulation = Simulation({"m": model("m", waits(10), more=more)}, 8)
    found = open_loop(simulation, "m", [0], mix=Mix(lengths=(3,)))

    assert 2 == len(found.every)
    assert "must specify the START flag" in found.every[-1].error


def test_a_call_belongs_to_the_sequence_of_its_caller():
    """Or to one of its own execution."""
    same = RequestFields(correlation_id=SAME_SEQUENCE)
    first = RequestFields(correlation_id=9, flags=START)
    last = RequestFields(correlation_id=9, flags=END)
    steps = (
        Step((), 0, 0, "s", fields=same),
        Step((0,), 0, 0, "t", fields=first),
        Step((1,), 0, 0, "t", fields=last),
        Step((2,), 0),
    )
    models = {
        "p": model("p", Behaviour(1, steps), count=2),
        "s": model("s", waits(1), more=DIRECT),
        "t": model("t", waits(1), more=DIRECT),
    }
    simulation = Simulation(models, 8)
    found = open_loop(simulation, "p", [0], mix=Mix(lengths=(2,)))
    children = [
        (each.model, each.fields.correlation_id, each.fields.flags)
        for request in found.every
        for each in request.children
    ]

    assert not found.errors
    assert [
        ("s", 1, START),
        ("t", 2, START),
        ("t", 2, END),
        ("s", 1, END),
        ("t", 3, START),
        ("t", 3, END),
    ] == children


STREAM = Behaviour(
    1,
    (
        Step((), 0, MS, returns=True),
        *[Step((), 0, 10 * MS, sends=1)] * 3,
        Step((), 0, MS),
    ),
)


def test_a_stream_has_a_first_and_a_last_response():
    """Its instance is free as soon as ``execute`` has returned."""
    simulation = Simulation({"m": model("m", STREAM)}, 8)
    found = open_loop(simulation, "m", [0, 0])

    assert [11, 12] == [each.first_ns / MS for each in found.every]
    assert [32, 33] == [each.ended_ns / MS for each in found.every]
    assert [3, 3] == [each.responses for each in found.every]
    assert 2 * MS == simulation.stations["m"].busy_ns
    assert 12 == pytest.approx(found.first_percentile_us(100) / 1e3)


def test_a_caller_waits_for_the_responses_that_it_reads():
    """It calls another model after the second one, and ends after the last."""
    observed = behaviour(
        0,
        40 * MS,
        [
            ObservedCall(0, 35 * MS, "m", 1, responses_ns=(11 * MS, 21 * MS, 31 * MS)),
            ObservedCall(22 * MS, 23 * MS, "c"),
        ],
    )
    models = {
        "p": model("p", observed, count=2),
        "m": model("m", STREAM),
        "c": model("c", computes(1)),
    }
    found = open_loop(Simulation(models, 8), "p", [0, 0])

    assert ((0, 2),) == observed.steps[1].reads
    assert [(0, 22), (1, 23)] == [
        (number, each.children[1].began_ns / MS)
        for number, each in enumerate(found.every)
    ]
    assert [37, 38] == [each.ended_ns / MS for each in found.every]
