import pytest

from blsnb.engine.scheduling.batching.batch import Queued
from blsnb.engine.scheduling.sequences.batcher import SequenceBatcher
from blsnb.engine.scheduling.sequences.rules import SequenceRefused

from ..playing import Stage, config_of

DIRECT = config_of("direct {}", batch=4)
NO_START = (
    "inference request for sequence {} to model 'm' must specify the START flag on "
    "the first request of the sequence"
)


def refusal(sequence, flags=0, batch=1):
    batcher = SequenceBatcher(DIRECT, 1)
    with pytest.raises(SequenceRefused) as refused:
        batcher.add(Queued("r", batch, {"D": (1,)}), sequence, flags, 0)
    assert 0 == len(batcher)
    return refused.value.code, refused.value.message


@pytest.mark.parametrize("nobody", [0, ""])
def test_a_request_without_correlation_id_is_refused(nobody):
    """Zero and "" are no ids, with or without START."""
    assert (
        "INVALID_ARG",
        "inference request to model 'm' must specify a non-zero or non-empty "
        "correlation ID",
    ) == refusal(nobody, flags=1)


def test_a_batch_is_refused_before_its_id_is_looked_at():
    """A request of two elements cannot belong to a sequence."""
    assert (
        "INVALID_ARG",
        "inference request to model 'm' must specify batch-size 1 due to requirements "
        "of sequence batcher",
    ) == refusal(0, batch=2)


@pytest.mark.parametrize("sequence", [7, "seven"])
def test_the_first_request_must_have_the_start_flag(sequence):
    """The text names the sequence, which is a number or a string."""
    assert ("INVALID_ARG", NO_START.format(sequence)) == refusal(sequence)
    assert ("INVALID_ARG", NO_START.format(sequence)) == refusal(sequence, flags=2)


def test_after_the_end_a_sequence_must_start_again():
    """The end counts on arrival, not on execution."""
    stage = Stage(DIRECT)
    stage.send(0, "start", 7, start=True, takes=50)
    stage.send(1, "end", 7, end=True)
    stage.send(2, "after", 7)
    stage.play()

    assert f"INVALID_ARG {NO_START.format(7)}" == stage.outcome_of("after")
    assert ["0: start", "0: end"] == stage.groups()


def test_a_number_and_a_text_of_the_same_digits_are_two_sequences():
    """Sequence 7 is running, "7" is not."""
    stage = Stage(DIRECT)
    stage.send(0, "number", 7, start=True)
    stage.send(1, "text", "7")
    stage.play()

    assert f"INVALID_ARG {NO_START.format(7)}" == stage.outcome_of("text")


def test_a_start_in_the_middle_is_logged_and_goes_on_in_the_same_slot():
    """Waiting requests of the earlier sequence run first."""
    stage = Stage(DIRECT)
    stage.send(0, "a1", 1, start=True, takes=50)
    stage.send(1, "a2", 1)
    stage.send(2, "b1", 1, start=True)
    stage.send(3, "b2", 1, end=True)
    stage.play()

    assert ["0: a1", "0: a2", "0: b1", "0: b2"] == stage.groups()
    assert [
        "sequence 1 for model 'm' has a conflict. The previous sequence did not end "
        "before this sequence start. Previous sequence will be terminated early."
    ] == stage.log


def test_a_start_behind_an_end_is_another_sequence_in_another_slot():
    """The real server executed it together with the rest of the earlier one."""
    stage = Stage(DIRECT)
    stage.send(0, "a1", 1, start=True, takes=50)
    stage.send(1, "a2", 1)
    stage.send(2, "a3", 1, end=True)
    stage.send(3, "b1", 1, start=True)
    stage.send(4, "b2", 1, end=True)
    stage.play()

    assert ["0: a1", "0: a2 b1", "0: a3 b2"] == stage.groups()
    assert [] == stage.log


def test_start_and_end_may_be_one_request():
    """Its slot is free for the next sequence."""
    stage = Stage(config_of("direct {}", batch=1))
    stage.send(0, "only", 1, start=True, end=True)
    stage.send(1, "next", 2, start=True, end=True)
    stage.play()

    assert ["0: only", "0: next"] == stage.groups()
