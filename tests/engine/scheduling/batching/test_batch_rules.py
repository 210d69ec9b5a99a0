"""Which requests a batch may have, and the reasons that users read."""

from __future__ import annotations

import pytest

from blsnb.engine.scheduling.batching.batch import Cause, Queued
from blsnb.engine.scheduling.batching.batch_rules import BatchRules, EqualInputs
from blsnb.model.config import parse_pbtxt

INPUTS = """
input { name: "A" data_type: TYPE_FP32 dims: [ -1 ] }
input { name: "B" data_type: TYPE_FP32 dims: [ 2 ] }
input { name: "C" data_type: TYPE_FP32 dims: [ -1 ] allow_ragged_batch: true }
input { name: "D" data_type: TYPE_FP32 dims: [ 3, -1 ] }
"""


def rules(text: str, size: int = 8) -> BatchRules:
    """Return the rules of a dynamic batcher."""
    config = parse_pbtxt(
        f"{INPUTS} max_batch_size: {size} dynamic_batching {{ {text} }}"
    )
    return BatchRules.of(config, config.message.dynamic_batching)


def test_causes_are_named_as_tables_of_counts_show_them() -> None:
    """A batch starts for one of the first six; a request is left out for the others."""
    assert [
        "largest size reached",
        "preferred size reached",
        "delay over",
        "instance free",
        "slots filled",
        "the model does not batch",
        "too large together",
        "shape differs",
        "other inputs",
        "behind one that did not fit",
        "the batch had left",
        "one at a time of its sequence",
        "no slot for its sequence",
    ] == list(Cause)


def queued(**shapes: tuple[int, ...]) -> Queued[str]:
    """Return a request with these inputs."""
    return Queued("a", 1, shapes)


@pytest.mark.parametrize(
    ("text", "size", "expected"),
    [
        ("", 8, (8, (8,), 8, 0)),
        ("", 0, (1, (), 0, 0)),
        ("preferred_batch_size: [ 4, 2, 4 ]", 8, (8, (2, 4), 4, 0)),
        ("max_queue_delay_microseconds: 5", 1, (1, (1,), 1, 5000)),
    ],
)
def test_rules_are_read_from_the_configuration(text, size, expected):
    """Without a preferred size it is the largest one."""
    found = rules(text, size)

    assert expected == (
        found.max_size,
        found.preferred,
        found.largest_preferred,
        found.delay_ns,
    )
    assert EqualInputs(frozenset({"A", "D"}), False) == found.equal


def test_an_optional_input_needs_equal_sets():
    """Any one of them does."""
    text = INPUTS.replace("dims: [ 2 ]", "dims: [ 2 ] optional: true")

    assert EqualInputs.of(parse_pbtxt(text)).same_set


@pytest.mark.parametrize(
    ("sizes", "following"),
    [("", [8, 8, 8, 8]), ("preferred_batch_size: [ 2, 4 ]", [2, 4, 4, 2])],
)
def test_the_next_preferred_size_is_larger(sizes, following):
    """Above all of them it is the smallest."""
    found = rules(sizes)

    assert following == [found.next_preferred(size) for size in (1, 2, 3, 4)]
    assert 0 == rules("", 0).next_preferred(1)


@pytest.mark.parametrize(
    ("equal", "first", "other", "reason"),
    [
        (EqualInputs(frozenset(), False), {"A": (1,)}, {"B": (2,)}, None),
        (EqualInputs(frozenset("A"), False), {"A": (1,)}, {"A": (1,)}, None),
        (EqualInputs(frozenset("A"), False), {"A": (1,)}, {"B": (2,)}, None),
        (
            EqualInputs(frozenset("BA"), False),
            {"A": (1,), "B": (1, 2)},
            {"A": (2,), "B": (1, 3)},
            ("shape differs", "shape of A differs: [2] instead of [1]"),
        ),
        (
            EqualInputs(frozenset(), True),
            {"B": (1,), "A": (1,)},
            {},
            ("other inputs", "has other inputs: none instead of A, B"),
        ),
        (
            EqualInputs(frozenset(), True),
            {},
            {"A": (1,)},
            ("other inputs", "has other inputs: A instead of none"),
        ),
        (EqualInputs(frozenset(), True), {"A": (1,)}, {"A": (2,)}, None),
    ],
)
def test_why_a_request_cannot_follow_the_first_of_a_batch(equal, first, other, reason):
    """The first difference is named."""
    found = equal.difference(queued(**first), queued(**other))

    assert reason == (None if found is None else (found.cause.value, found.words))


@pytest.mark.parametrize(
    ("name", "size", "reason"),
    [
        ("excess", 9, "the next would make 9 of at most 8"),
        ("excess", 8, "the next would make 8, preferred are 4"),
        ("reached", 8, "the largest size 8 was reached"),
        ("reached", 4, "the preferred size 4 was reached"),
        ("enough", 5, "5 is no less than the largest preferred size"),
    ],
)
def test_the_reason_of_a_size_has_the_sizes(name, size, reason):
    """Users read it beside a call."""
    assert reason == getattr(rules("preferred_batch_size: 4"), name)(size).words
