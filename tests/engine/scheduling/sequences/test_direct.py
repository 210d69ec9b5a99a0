import pytest

from blsnb.engine.scheduling.batching.batch import Queued
from blsnb.engine.scheduling.sequences.batcher import SequenceBatcher
from blsnb.request_fields import SEQUENCE_START

from ..playing import MS, Stage, config_of

UTILIZATION = (
    "direct { minimum_slot_utilization: 0.75 max_queue_delay_microseconds: %d }"
)


def three_sequences(batch=4):
    stage = Stage(config_of("direct {}", batch=batch))
    for sequence in (1, 2, 3):
        stage.send(sequence * 20, f"a{sequence}", sequence, start=True)
    return stage


def test_slots_below_the_highest_ready_one_are_filled_with_null_requests():
    """Slots above it are not filled."""
    stage = three_sequences()
    stage.send(80, "b1", 1)
    stage.send(90, "b3", 3)
    stage.play()

    assert ["0: a1", "0: - a2", "0: - - a3", "0: b1", "0: - - b3"] == stage.groups()


def test_what_waits_runs_together_one_request_of_each_sequence():
    """The second request of a sequence waits for its first."""
    stage = three_sequences()
    stage.send(80, "b1", 1, takes=100)
    for ms, name, sequence in ((90, "b3", 3), (95, "b2", 2), (99, "c3", 3)):
        stage.send(ms, name, sequence)
    stage.play()

    assert ["0: b1", "0: - b2 b3", "0: - - c3"] == stage.groups()[3:]


def test_a_slot_keeps_its_place_when_those_below_have_ended():
    """A null request replaces an ended sequence, except in the top slot."""
    stage = three_sequences()
    stage.send(80, "e2", 2, end=True)
    stage.send(90, "b3", 3)
    stage.send(100, "e1", 1, end=True)
    stage.send(110, "e3", 3, end=True)
    stage.send(120, "new", 9, start=True, end=True)
    stage.play()

    assert ["0: - e2", "0: - - b3", "0: e1", "0: - - e3", "0: new"] == (
        stage.groups()[3:]
    )


def test_a_model_that_does_not_batch_has_one_slot():
    """A second sequence waits for the end of the first."""
    stage = Stage(config_of("direct {}", batch=0))
    stage.send(0, "a1", 1, start=True)
    stage.send(1, "b1", 2, start=True)
    stage.send(10, "a2", 1, end=True)
    stage.play()

    assert ["0: a1", "0: a2", "0: b1"] == stage.groups()


def test_sequence_batching_without_a_strategy_is_direct():
    """The null requests show it."""
    stage = Stage(config_of("", batch=2))
    stage.send(0, "a1", 1, start=True)
    stage.send(10, "b1", 2, start=True)
    stage.play()

    assert ["0: a1", "0: - b1"] == stage.groups()


def test_a_slot_is_free_as_soon_as_its_end_runs():
    """The next sequence waits for that instance, although another becomes idle."""
    stage = Stage(config_of("direct {}", batch=1, instances=2), instances=2)
    stage.send(0, "a1", 1, start=True)
    stage.send(20, "b1", 2, start=True)
    stage.send(40, "a2", 1, end=True, takes=300)
    stage.send(80, "c1", 3, start=True)
    stage.send(100, "b2", 2, end=True)
    stage.play()

    assert ["0: a1", "1: b1", "0: a2", "1: b2", "0: c1"] == stage.groups()
    assert 340 == stage.calls[-1].at_ms


def test_a_delay_alone_delays_nothing():
    """Without minimum_slot_utilization ready slots run at once."""
    config = config_of("direct { max_queue_delay_microseconds: 150000 }", batch=4)
    stage = Stage(config)
    stage.send(0, "a1", 1, start=True)
    stage.play()

    assert 0 == stage.calls[0].at_ms
    assert "its instance is idle: slots with a request run at once" == (
        stage.calls[0].batch.sent_because.words
    )


def test_too_few_ready_slots_wait_for_the_delay_of_the_oldest():
    """Two of four slots are less than three quarters."""
    stage = Stage(config_of(UTILIZATION % 150_000))
    stage.send(0, "a1", 1, start=True)
    stage.send(30, "b1", 2, start=True)
    stage.play()

    assert ["0: a1 b1"] == stage.groups()
    assert 150 < stage.calls[0].at_ms < 150.1
    assert "requests are in 2 of 4 slots, and the delay of 150000 µs was over" == (
        stage.calls[0].batch.sent_because.words
    )


def test_enough_ready_slots_run_before_the_delay():
    """The third slot is enough; a second request of one sequence is not."""
    stage = Stage(config_of(UTILIZATION % 150_000))
    for ms, name, sequence in ((0, "a1", 1), (10, "b1", 2), (40, "c1", 3)):
        stage.send(ms, name, sequence, start=True)
    stage.send(30, "a2", 1)
    stage.play()

    assert ["0: a1 b1 c1", "0: a2"] == stage.groups()
    assert [40, 180] == [int(call.at_ms) for call in stage.calls]
    assert "requests are in 3 of 4 slots: minimum_slot_utilization is 0.75" == (
        stage.calls[0].batch.sent_because.words
    )


def test_a_request_of_another_shape_gives_way_to_a_null_request():
    """The request runs alone later, even in the top slot, as on Triton."""
    stage = Stage(config_of("direct {}", batch=3, dims="-1"))
    stage.send(0, "a1", 1, start=True, takes=100)
    stage.send(20, "b1", 2, start=True, width=2)
    stage.send(24, "c1", 3, start=True)
    stage.send(28, "a2", 1)
    stage.send(240, "a3", 1, takes=60)
    stage.send(260, "b2", 2, width=2)
    stage.send(264, "c2", 3)
    stage.play()

    assert ["0: a1", "0: a2 - c1", "0: - b1"] == stage.groups()[:3]
    assert ["0: a3", "0: - b2 -", "0: - - c2"] == stage.groups()[3:]
    ((left, reason),) = stage.calls[1].batch.left_out
    assert "b1" == left.request.name
    assert "shape of D differs: [2] instead of [1]" == reason.words


def test_ragged_inputs_may_differ():
    """The configuration must allow it."""
    ragged = (
        'input { name: "R" data_type: TYPE_INT32 dims: [-1] allow_ragged_batch: true }'
    )
    stage = Stage(config_of("direct {}", batch=2, optional=ragged))
    stage.send(0, "a1", 1, start=True, takes=100)
    stage.send(10, "b1", 2, start=True, width=2)
    stage.send(11, "a2", 1)
    stage.play()

    assert ["0: a1", "0: a2 b1"] == stage.groups()


def test_a_request_without_an_optional_input_gives_way_to_a_null_request():
    """All requests of a batch have the same inputs."""
    optional = 'input { name: "Z" data_type: TYPE_INT32 dims: [1] optional: true }'
    stage = Stage(config_of("direct {}", batch=2, optional=optional))
    stage.send(0, "a1", 1, start=True, takes=100)
    stage.send(10, "b1", 2, start=True, inputs=("D", "Z"))
    stage.send(11, "a2", 1)
    stage.play()

    assert ["0: a1", "0: a2 -", "0: - b1"] == stage.groups()


def test_waiting_requests_have_reasons():
    """They wait for an earlier request of their slot, or for a slot."""
    stage = Stage(config_of("direct {}", batch=2))
    stage.send(0, "a1", 1, start=True, takes=100)
    stage.send(10, "b1", 2, start=True)
    stage.send(11, "a2", 1)
    stage.send(12, "a3", 1)
    stage.send(13, "c1", 3, start=True)
    stage.play()

    reasons = {
        left.request.name: reason.words
        for left, reason in stage.calls[1].batch.left_out
    }
    assert {
        "a3": "stands behind another request of its slot: one at a time",
        "c1": "its sequence waits in the backlog: slots are taken by sequences 1, 2",
    } == reasons


def test_a_cancelled_request_ends_its_sequence():
    """Executed requests remain; the next one must start again, as on Triton."""
    stage = Stage(config_of("direct {}", batch=1))
    stage.send(0, "a1", 1, start=True, takes=300)
    for ms, name in ((4, "a2"), (8, "a3")):
        stage.send(ms, name, 1)
    stage.send(16, "b1", 2, start=True)
    stage.cancel(100, "a3")
    stage.send(500, "a5", 1)
    stage.play()

    assert ["0: a1", "0: a2", "0: b1"] == stage.groups()
    assert "CANCELLED" == stage.outcome_of("a3")
    assert stage.outcome_of("a5").startswith(
        "INVALID_ARG inference request for sequence 1"
    )


def test_requests_run_when_their_instance_is_free_whatever_kept_it_busy():
    """It may be replaced during an execution, whose end is then not noted."""
    batcher = SequenceBatcher(config_of("direct {}", batch=1), 1)
    for name, flags in (("a1", SEQUENCE_START), ("a2", 0)):
        batcher.add(Queued(name, 1, {"D": (1,)}), 1, flags, 0)

    assert () == batcher.decide(0, []).batches
    for name in ("a1", "a2"):
        [batch] = batcher.decide(0, [0]).batches
        assert [name] == [queued.request for queued in batch.members]
    assert () == batcher.decide(0, [0]).batches


def test_a_request_that_waits_for_others_is_cancelled_at_once():
    """The next decision notices it, before the delay is over."""
    batcher = SequenceBatcher(config_of(UTILIZATION % 5000), 1)
    cancelled = []
    queued = Queued("a1", 1, {"D": (1,)}, cancelled=lambda: bool(cancelled))
    batcher.add(queued, 1, SEQUENCE_START, 0)

    assert 5 * MS + 1 == batcher.decide(0, [0]).wake_ns
    cancelled.append(True)
    decision = batcher.decide(MS, [0])
    assert ((queued,), 1000 * MS) == (decision.cancelled, decision.wake_ns)


@pytest.mark.parametrize("count", [8, 9])
def test_what_waits_in_the_backlog_names_eight_sequences_with_slots(count):
    """More are not named; the first 64 requests that wait are listed."""
    batcher = SequenceBatcher(config_of("direct {}", batch=count), 1)
    for sequence in range(1, count + 70):
        queued = Queued(sequence, 1, {"D": (1,)})
        batcher.add(queued, sequence, SEQUENCE_START, 0)
    [batch] = batcher.decide(0, [0]).batches

    more = " and 1 more" if count > 8 else ""
    words = f"slots are taken by sequences 1, 2, 3, 4, 5, 6, 7, 8{more}"
    assert [(n, words) for n in range(count + 1, count + 65)] == [
        (left.request, reason.words.partition(": ")[2])
        for left, reason in batch.left_out
    ]
