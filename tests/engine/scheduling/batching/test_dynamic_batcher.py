"""Which requests leave together, and when; times as a real server showed them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from blsnb.engine.scheduling.batching.batch import Queued
from blsnb.engine.scheduling.batching.dynamic_batcher import DynamicBatcher

from ..virtual_server import MS, Ask, asks, model, run

DELAY = "max_queue_delay_microseconds: 300000"
BUSY = Ask(0, 0, executes_ms=500)


def waiting(config: Any, *sizes: int) -> tuple[DynamicBatcher[int], list[Queued[int]]]:
    """Return a batcher that has looked at requests 0, 1, … and has no instance."""
    batcher = DynamicBatcher[int](config)
    queued = [Queued(n, size, {"X": (2,)}) for n, size in enumerate(sizes)]
    for each in queued:
        batcher.add(each, 0)
    batcher.decide(0, 0)
    return batcher, queued


def started(batcher: DynamicBatcher[int]) -> list[list[int]]:
    """Return the requests of the batches that start on one instance."""
    batches = batcher.decide(0, 1).batches
    return [[each.request for each in batch.members] for batch in batches]


def burst(count: int, **like: object) -> list[Ask]:
    """Send requests 1, 2, … while an instance is busy."""
    return asks(*(60.0 + 8 * n for n in range(count)), first=1, **like)


def test_a_lone_request_leaves_when_its_delay_is_over():
    """The delay counts from the oldest request of the batch."""
    outcome = run(model(DELAY), asks(0, 100, 200))

    assert [(300, [0, 1, 2])] == outcome.calls
    assert "the delay of 300000 µs was over" == outcome.because(0)


def test_a_request_that_does_not_fit_sends_those_before_it():
    """Batches of 2, 3 and 4 are 9; the last request waits for its own delay."""
    requests = [Ask(0, 0, 2), Ask(1, 50, 3), Ask(2, 100, 4)]
    outcome = run(model(DELAY), requests)

    assert [(100, [0, 1]), (400, [2])] == outcome.calls
    assert "the next would make 9 of at most 8" == outcome.because(0)
    assert {2: "would make 9 of at most 8"} == outcome.left_out(0)


def test_a_full_batch_does_not_wait():
    """Sizes 4 and 4 make 8."""
    outcome = run(model(DELAY), [Ask(0, 0, 4), Ask(1, 50, 4)])

    assert [(50, [0, 1])] == outcome.calls
    assert "the largest size 8 was reached" == outcome.because(0)


def test_another_shape_sends_those_before_it():
    """The order never changes, although the fourth request fits the first batch."""
    shapes = [(2,), (2,), (3,), (2,)]
    requests = [Ask(n, 50 * n, shape=shape) for n, shape in enumerate(shapes)]
    outcome = run(model(DELAY), requests)

    assert [(100, [0, 1]), (150, [2]), (450, [3])] == outcome.calls
    wrong = "shape of X differs: [3] instead of [2]"
    assert f"the next is different: {wrong}" == outcome.because(0)
    assert {2: wrong} == outcome.left_out(0)


@pytest.mark.parametrize(
    "config",
    [model(DELAY, ragged=True), model(DELAY, dims=2)],
    ids=["ragged", "fixed"],
)
def test_only_inputs_that_vary_and_are_not_ragged_need_one_shape(config):
    """Fixed shapes were validated before."""
    requests = [Ask(n, 50 * n, shape=(n + 1,)) for n in range(3)]

    assert [(300, [0, 1, 2])] == run(config, requests).calls


@pytest.mark.parametrize(
    ("count", "calls"),
    [
        (3, [(300, [0, 1, 2])]),
        (4, [(60, [0, 1, 2, 3])]),
        (5, [(60, [0, 1, 2, 3]), (380, [4])]),
    ],
)
def test_a_preferred_size_leaves_at_once(count, calls):
    """Later requests wait for their own delay."""
    config = model(f"{DELAY} preferred_batch_size: [4]")
    outcome = run(config, asks(*(20 * n for n in range(count))))

    assert calls == outcome.calls


def test_more_than_all_preferred_sizes_sends_those_before_it():
    """3 and 3 exceed 4, although the maximum is 8."""
    config = model(f"{DELAY} preferred_batch_size: [4]")
    outcome = run(config, [Ask(0, 0, 3), Ask(1, 50, 3)])

    assert [(50, [0]), (350, [1])] == outcome.calls
    assert "the next would make 6, preferred are 4" == outcome.because(0)


def test_other_sets_of_inputs_are_never_in_one_call():
    """If a shape varies, the batcher notices a different set at once."""
    requests = [Ask(0, 0), Ask(1, 50, extra=True), Ask(2, 100)]
    outcome = run(model(DELAY, optional=True), requests)

    assert [(50, [0]), (100, [1]), (400, [2])] == outcome.calls
    assert {1: "has other inputs: X, Z instead of X"} == outcome.left_out(0)


def test_other_inputs_are_seen_late_where_no_shape_varies():
    """Triton's batcher then sleeps when a request comes, as measured."""
    requests = [Ask(0, 0), Ask(1, 50, extra=True), Ask(2, 100)]
    outcome = run(model(DELAY, dims=2, optional=True), requests)

    assert [(300, [0]), (310, [1]), (400, [2])] == outcome.calls


def test_without_a_delay_the_first_leaves_alone_and_the_rest_together():
    """All other requests waited for the instance."""
    outcome = run(model(), [BUSY, *burst(5)])

    assert [(0, [0]), (500, [1, 2, 3, 4, 5])] == outcome.calls
    assert "there is no delay, and an instance was free" == outcome.because(1)


@pytest.mark.parametrize(
    ("preferred", "count", "groups"),
    [
        ("[2, 4]", 5, [[1, 2], [3, 4], [5]]),
        # Two batches are formed ahead; the second grows only when the first left.
        ("[2, 4]", 8, [[1, 2], [3, 4, 5, 6], [7, 8]]),
        ("[2, 4]", 11, [[1, 2], [3, 4, 5, 6], [7, 8, 9, 10], [11]]),
        ("[4]", 11, [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11]]),
        ("[]", 20, [[*range(1, 9)], [*range(9, 17)], [*range(17, 21)]]),
    ],
)
@pytest.mark.parametrize("dims", [-1, 2])
def test_without_a_delay_a_preferred_size_freezes_the_waiting_batch(
    preferred, count, groups, dims
):
    """The real server does the same."""
    config = model(f"preferred_batch_size: {preferred}", dims=dims)

    assert [[0], *groups] == run(config, [BUSY, *burst(count)]).groups


def test_a_batch_formed_ahead_is_frozen_by_another_shape():
    """The real server does the same."""
    shapes = [(1,), (1,), (2,), (1,), (1,), (2,), (2,)]
    waiting = [
        Ask(n, 60 + 8 * n, shape=shape) for n, shape in enumerate(shapes, start=1)
    ]
    outcome = run(model(), [BUSY._replace(shape=(1,)), *waiting])

    assert [[0], [1, 2], [3], [4, 5], [6, 7]] == outcome.groups
    assert {
        3: "shape of X differs: [2] instead of [1]",
        **dict.fromkeys([4, 5, 6, 7], "came behind one that did not fit"),
    } == outcome.left_out(1)


@pytest.mark.parametrize(
    ("dims", "calls"),
    [
        (-1, [(100, [0, 1]), (700, [2, 3, 4])]),
        # Without a wake-up, requests that came after the delay stay in the queue.
        (2, [(100, [0, 1]), (700, [2]), (710, [3, 4])]),
    ],
)
def test_a_batch_whose_delay_is_over_waits_for_an_instance(dims, calls):
    """It grows if the batcher looks in the meantime."""
    late = [Ask(n, 60 + 120 * (n - 1)) for n in range(1, 5)]
    config = model("max_queue_delay_microseconds: 100000", dims=dims)

    assert calls == run(config, [BUSY._replace(executes_ms=600), *late]).calls


def test_batches_that_waited_too_long_are_merged_when_they_start():
    """Two batches formed ahead start as one, if they fit."""
    config = model(
        "max_queue_delay_microseconds: 100000 preferred_batch_size: [2]", dims=2
    )
    requests = [Ask(0, 0, 2, executes_ms=500), *asks(50, 60, 70, 80, first=1)]

    assert [(0, [0]), (500, [1, 2, 3, 4])] == run(config, requests).calls


def test_a_model_that_does_not_batch_executes_one_request_per_call():
    """A configured batcher does not change this."""
    outcome = run(model(largest=0), [BUSY, *burst(3)])

    assert [(0, [0]), (500, [1]), (510, [2]), (520, [3])] == outcome.calls
    assert "would make 2 of at most 1" == outcome.left_out(1)[2]


def test_two_instances_take_a_batch_each():
    """They start as the instances become free."""
    config = model(instances=2)
    requests = [BUSY, Ask(1, 10, executes_ms=300), *asks(60, 70, 400, first=2)]

    assert [
        (0, [0]),
        (10, [1]),
        (310, [2, 3]),
        (400, [4]),
    ] == run(config, requests).calls


def test_a_cancelled_request_is_removed_at_the_next_look():
    """The model never receives it."""
    requests = [Ask(0, 0), Ask(1, 30, leaves_ms=60), Ask(2, 100)]
    outcome = run(model(DELAY, dims=2), requests)

    assert [(300, [0, 2])] == outcome.calls
    assert [(300, 1)] == outcome.cancelled


def test_a_cancelled_request_of_a_batch_formed_ahead_is_executed():
    """It is no longer in the queue."""
    requests = [BUSY, *burst(2)]
    requests[1] = requests[1]._replace(leaves_ms=200)
    outcome = run(model(), requests)

    assert [[0], [1, 2]] == outcome.groups
    assert [] == outcome.cancelled


def test_a_cancelled_request_behind_a_frozen_batch_is_answered_at_once():
    """The next request causes a look, though none can join the batch."""
    other = {"shape": (3,)}
    requests = [
        BUSY,
        Ask(1, 60),
        Ask(2, 70, leaves_ms=75, **other),
        Ask(3, 80, **other),
    ]
    outcome = run(model(), requests)

    assert [(80, 2)] == outcome.cancelled
    assert [[0], [1], [3]] == outcome.groups


def test_after_all_have_left_a_fixed_shape_may_wait_for_the_next_poll():
    """It waits although its delay has passed and an instance is idle, as on Triton."""
    requests = [Ask(0, 0, leaves_ms=50), Ask(1, 300)]
    config = model("max_queue_delay_microseconds: 200000", dims=2)

    assert [(700, [1])] == run(config, requests).calls


def test_a_late_look_takes_a_full_batch():
    """With priorities no batch is formed ahead, and all requests are late."""
    delay = "max_queue_delay_microseconds: 100000 preferred_batch_size: [2]"
    config = model(f"{delay} priority_levels: 1 default_priority_level: 1", largest=4)
    outcome = run(config, [BUSY._replace(size=2), *burst(5)])

    assert [(0, [0]), (500, [1, 2, 3, 4]), (510, [5])] == outcome.calls


def _recorded() -> list[dict[str, Any]]:
    return json.loads(
        (Path(__file__).parent.parent / "recorded_groupings.json").read_text()
    )["cases"]


@pytest.mark.parametrize("case", _recorded())
def test_a_real_server_grouped_the_same(case):
    """With nothing but preferred sizes and delays, where what it does is certain."""
    # An execution there takes a few milliseconds more than the model sleeps.
    config = model(
        case["dynamic_batching"],
        dims=case["dims"],
        largest=case["max_batch_size"],
        optional=case["optional"],
    )
    requests = [
        Ask(n, at_ms, size, (length,), extra, executes_ms=sleeps_ms + 3)
        for n, (at_ms, size, length, extra, sleeps_ms) in enumerate(case["requests"])
    ]

    assert [names for _, names in case["calls"]] == run(config, requests).groups


def test_the_batcher_does_not_order_responses():
    """The batcher does not send responses."""
    assert not DynamicBatcher(model()).preserve_ordering
    assert DynamicBatcher(model("preserve_ordering: true")).preserve_ordering


def test_a_request_leaves_the_queue_or_a_batch_formed_ahead():
    """A batch without requests does not start."""
    batcher, queued = waiting(model(largest=2), 1, 1, 1, 1, 1)
    assert (2, 5) == (batcher.formed_count, len(batcher))

    removed = [batcher.remove(queued[n]) for n in (0, 4, 2, 2)]
    assert [True, True, True, False] == removed
    assert (2, 2) == (batcher.formed_count, len(batcher))
    assert batcher.remove(queued[1])
    assert (1, 1) == (batcher.formed_count, len(batcher))
    assert [[3]] == started(batcher)


def test_a_batch_follows_one_whose_requests_have_all_left():
    """The batcher looks at its queue again."""
    batcher, queued = waiting(model(largest=1), 1, 1, 1)
    for each in queued[:2]:
        batcher.remove(each)

    assert (0, 1) == (batcher.formed_count, len(batcher))
    batcher.decide(0, 0)
    assert 1 == batcher.formed_count
    assert [[2]] == started(batcher)


def test_a_request_that_left_does_not_count_for_the_next_preferred_size():
    """The batcher sleeps until the delay of the one that left, as on Triton."""
    batcher = DynamicBatcher[int](model(f"{DELAY} preferred_batch_size: [4]", dims=2))
    first, second = Queued(0, 1, {}), Queued(1, 3, {})
    batcher.add(first, 0)
    assert 300 * MS == batcher.decide(0, 1).wake_ns

    batcher.remove(first)
    batcher.add(second, 100 * MS)
    assert 300 * MS == batcher.decide(100 * MS, 1).wake_ns


def test_more_instances_let_more_batches_be_formed_ahead():
    """There are two for each."""
    batcher, _ = waiting(model(largest=1), 1, 1, 1, 1, 1)
    assert 2 == batcher.formed_count

    batcher.resize(2)
    batcher.decide(0, 0)
    assert 4 == batcher.formed_count


def test_a_cancelled_request_is_answered_after_the_wait_of_others_that_left():
    """Triton's thread answers it when it wakes, whether or not one still waits."""
    batcher = DynamicBatcher[int](model(DELAY))
    cancelled, other = (
        Queued(0, 1, {"X": (2,)}, cancelled=lambda: True),
        Queued(1, 1, {}),
    )
    for each in (cancelled, other):
        batcher.add(each, 0)

    assert () == batcher.decide(0, 1).cancelled
    batcher.remove(other)
    assert (cancelled,) == batcher.decide(300 * MS, 1).cancelled


def test_a_batch_lists_what_waits_only_where_that_is_explained():
    """A simulation of a plan needs no reasons."""
    listed = []
    for explains in (True, False):
        batcher = DynamicBatcher[int](model(largest=1), explains=explains)
        for number in range(2):
            batcher.add(Queued(number, 1, {}), 0)
        [batch] = batcher.decide(0, 1).batches
        listed.append([queued.request for queued, _ in batch.left_out])

    assert [[1], []] == listed


def test_a_batch_lists_the_first_64_of_those_that_wait():
    """A long queue does not make each batch slow."""
    batcher = DynamicBatcher[int](model(largest=1))
    for number in range(70):
        batcher.add(Queued(number, 1, {}), 0)
    [batch] = batcher.decide(0, 1).batches

    assert [*range(1, 65)] == [queued.request for queued, _ in batch.left_out]


def test_the_batcher_looks_just_after_a_timeout_that_is_before_the_delay():
    """A request is in time at its timeout."""
    policy = "default_queue_policy { default_timeout_microseconds: 100000 }"
    batcher = DynamicBatcher[int](model(f"{DELAY} {policy}"))
    queued = Queued(0, 1, {})
    batcher.add(queued, 0)

    assert 100 * MS + 1 == batcher.decide(0, 1).wake_ns
    assert () == batcher.decide(100 * MS, 1).rejected
    assert (queued,) == batcher.decide(100 * MS + 1, 1).rejected


def test_with_priorities_no_batch_is_formed_while_all_instances_are_busy():
    """A request of a higher level may still come first."""
    levels = "priority_levels: 1 default_priority_level: 1"
    batcher = DynamicBatcher[int](model(levels, largest=1))
    for number in range(2):
        batcher.add(Queued(number, 1, {}), 0)

    assert 1 == len(batcher.decide(0, 1).batches)
    assert 0 == batcher.formed_count
