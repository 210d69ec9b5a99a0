"""Invariants of any traffic: no request is lost, repeated or reordered."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blsnb.engine.scheduling.batching.batch import Queued
from blsnb.engine.scheduling.batching.dynamic_batcher import DynamicBatcher

from .virtual_server import Ask, asks, model, run

DELAYS_MS = (0, 20, 70)
POLICIES = (
    "",
    "default_queue_policy { max_queue_size: 2 }",
    "default_queue_policy { default_timeout_microseconds: 30000 "
    "allow_timeout_override: true }",
    "default_queue_policy { default_timeout_microseconds: 30000 "
    "timeout_action: DELAY }",
)
preferred = st.lists(st.integers(1, 6), max_size=3, unique=True)


@st.composite
def settings_of(draw, *, policies: tuple[str, ...] = POLICIES, levels: bool = True):
    """Draw a configuration and its delay."""
    delay_ms = draw(st.sampled_from(DELAYS_MS))
    parts = [
        f"max_queue_delay_microseconds: {delay_ms * 1000}",
        f"preferred_batch_size: {draw(preferred)}",
        draw(st.sampled_from(policies)),
    ]
    if levels and draw(st.booleans()):
        parts.append("priority_levels: 3 default_priority_level: 2")
    config = model(
        " ".join(parts),
        dims=draw(st.sampled_from([-1, 2])),
        largest=6,
        instances=draw(st.integers(1, 2)),
        optional=draw(st.booleans()),
    )
    return config, delay_ms


@st.composite
def requests_of(draw, *, leaving: bool = True):
    """Draw requests in the order in which they come."""
    at_ms, drawn = 0, []
    for name in range(draw(st.integers(1, 14))):
        at_ms += draw(st.sampled_from([0, 1, 5, 13, 40, 600]))
        left_ms = draw(st.sampled_from([None, None, None, 3, 25])) if leaving else None
        drawn.append(
            Ask(
                name,
                at_ms,
                size=draw(st.integers(1, 3)),
                shape=draw(st.sampled_from([(2,), (2,), (3,)])),
                extra=draw(st.booleans()),
                priority=draw(st.integers(0, 4)),
                timeout_us=draw(st.sampled_from([0, 10_000])),
                executes_ms=draw(st.sampled_from([2, 17, 90])),
                leaves_ms=None if left_ms is None else at_ms + left_ms,
            )
        )
    return drawn


@given(settings_of(), requests_of())
def test_every_request_ends_once(settings, requests):
    """It is executed, refused, expired or cancelled."""
    outcome = run(settings[0], requests)
    ended = [name for call in outcome.calls for name in call.names]
    for others in (outcome.rejected, outcome.cancelled, outcome.refused):
        ended += [name for _, name in others]

    assert list(range(len(requests))) == sorted(ended)


@given(settings_of(), requests_of())
def test_no_batch_is_larger_than_the_model_takes_or_mixed(settings, requests):
    """Shapes are equal where required, and inputs always."""
    config, _ = settings
    varies = -1 in config.inputs[0].dims
    optional = any(tensor.optional for tensor in config.inputs)
    for batch in run(config, requests).batches:
        members = [queued.request for queued in batch.members]
        assert 6 >= sum(ask.size for ask in members)
        assert not varies or 1 == len({ask.shape for ask in members})
        assert not optional or 1 == len({ask.extra for ask in members})


@given(settings_of(policies=POLICIES[:3]), requests_of())
def test_requests_of_one_level_leave_in_the_order_in_which_they_came(
    settings, requests
):
    """No policy delays expired requests."""
    config, _ = settings
    levelled = bool(config.message.dynamic_batching.priority_levels)
    left = [name for call in run(config, requests).calls for name in call.names]
    for level in (1, 2, 3):
        names = [
            name for name in left if not levelled or level == level_of(requests[name])
        ]
        assert sorted(names) == names


def level_of(ask: Ask) -> int:
    """Return the level on a model with three levels and default 2."""
    return ask.priority if 1 <= ask.priority <= 3 else 2


@given(settings_of(policies=POLICIES[:1], levels=False), requests_of(leaving=False))
def test_no_request_waits_longer_than_the_delay_for_an_idle_instance(
    settings, requests
):
    """No request expires or is cancelled: after that Triton itself sleeps longer."""
    config, delay_ms = settings
    outcome = run(config, requests)
    busy = [
        (
            call.at_ms,
            call.at_ms + max(requests[name].executes_ms for name in call.names),
        )
        for call in outcome.calls
    ]
    instances = len(config.instance_names())
    for call in outcome.calls:
        due_ms = max(requests[name].at_ms for name in call.names[:1]) + delay_ms
        assert call.at_ms <= due_ms or all(
            instances <= sum(start <= at < end for start, end in busy)
            for at in moments(busy, due_ms, call.at_ms)
        )


def moments(busy: list[tuple[float, float]], start: float, end: float) -> list[float]:
    """Yield times, one between all changes of busy instances."""
    changes = {start, end} | {at for span in busy for at in span if start < at < end}
    return [(one + other) / 2 for one, other in pairwise(sorted(changes))]


@given(settings_of(), requests_of(leaving=False), st.integers(7, 40))
def test_deciding_more_often_changes_nothing(settings, requests, step_ms):
    """The batcher's time of the next decision is sufficient."""
    end_ms = requests[-1].at_ms + 1500
    ticks = [0.5 + step_ms * n for n in range(end_ms // step_ms)]
    seldom = run(settings[0], requests)
    often = run(settings[0], requests, ticks)

    assert seldom.calls == often.calls
    assert seldom.rejected == often.rejected
    assert seldom.refused == often.refused


@given(settings_of(), requests_of())
def test_waiting_requests_have_reasons(settings, requests):
    """All requests behind a batch have a reason, and no member has."""
    for batch in run(settings[0], requests).batches:
        assert batch.sent_because.words
        members = {queued.request.name for queued in batch.members}
        left = {queued.request.name: reason.words for queued, reason in batch.left_out}
        assert not members & left.keys()
        assert all(left.values())


@pytest.mark.parametrize("formed", [False, True])
def test_a_removed_request_is_not_executed(formed):
    """It is removed from the queue or from a batch formed ahead."""
    batcher = DynamicBatcher[int](model("max_queue_delay_microseconds: 300000"))
    kept, removed = (Queued(n, 1, {"X": (2,)}) for n in range(2))
    batcher.add(kept, 0)
    batcher.add(removed, 0)
    if formed:
        batcher.decide(300_000_000, idle=0)

    assert batcher.remove(removed)
    assert not batcher.remove(removed)
    assert 1 == len(batcher)
    sent = batcher.decide(400_000_000, idle=1).batches
    assert [(kept,)] == [batch.members for batch in sent]
    assert not batcher.remove(kept)


def test_an_empty_batch_formed_ahead_never_starts():
    """All its requests were removed."""
    batcher = DynamicBatcher[int](model())
    first, second, third = (Queued(n, 1, {"X": (2,)}) for n in range(3))
    batcher.add(first, 0)
    assert 1 == len(batcher.decide(0, idle=1).batches)
    batcher.add(second, 1)
    batcher.decide(1, idle=0)

    assert batcher.remove(second)
    assert ((), 0) == (batcher.decide(2, idle=1).batches, len(batcher))
    batcher.add(third, 3)
    assert [(third,)] == [b.members for b in batcher.decide(3, idle=1).batches]


def test_twice_as_many_batches_are_formed_ahead_as_there_are_instances():
    """Formed batches stay when the number of instances changes."""
    batcher = DynamicBatcher[int](model("preferred_batch_size: [2]"))
    for n in range(20):
        batcher.add(Queued(n, 1, {"X": (2,)}), 0)

    def formed(now_ns: int, idle: int = 0) -> int:
        batcher.decide(now_ns, idle)
        return batcher.formed_count

    assert 2 == formed(0)
    batcher.resize(2)
    assert 4 == formed(1)
    batcher.resize(1)
    assert 4 == formed(2)
    assert [3, 2, 2] == [formed(now_ns, idle=1) for now_ns in (3, 4, 5)]


def test_a_batch_names_the_first_few_dozen_behind_it():
    """Long queues are not recorded with every batch."""
    outcome = run(model(), [Ask(0, 0, executes_ms=500), *asks(*([1.0] * 200), first=1)])

    assert 64 == len(outcome.left_out(1))
