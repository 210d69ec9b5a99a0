"""Priorities, queue sizes and timeouts; times as a real server showed them."""

from __future__ import annotations

import pytest

from blsnb.engine.scheduling.batching.batch import Queued
from blsnb.engine.scheduling.batching.policy_queue import QueuePolicy

from .virtual_server import Ask, asks, model, run

BUSY = Ask(0, 0, executes_ms=500)
LEVELS = "priority_levels: 3 default_priority_level: 2"


def policy(**settings: object) -> str:
    """Return a default queue policy."""
    fields = " ".join(f"{name}: {value}" for name, value in settings.items())
    return f"default_queue_policy {{ {fields} }}"


def with_priorities(*priorities: int) -> list[Ask]:
    """Send a request of each priority while an instance is busy."""
    return [
        BUSY,
        *(
            Ask(n, 60 + 20 * n, priority=priority)
            for n, priority in enumerate(priorities, start=1)
        ),
    ]


def test_the_highest_level_leaves_first():
    """An unknown level and 0 mean the default one."""
    outcome = run(model(LEVELS), with_priorities(3, 3, 2, 1, 0, 9))

    assert [(0, [0]), (500, [4, 3, 5, 6, 1, 2])] == outcome.calls


def test_a_model_may_have_more_levels_than_memory_holds():
    """Only levels with waiting requests are kept."""
    settings = f"priority_levels: {2**63} default_priority_level: {2**62}"
    outcome = run(model(settings), with_priorities(0, 2**62 - 1, 2**63))

    assert [[0], [2, 1, 3]] == outcome.groups


def test_with_priorities_nothing_is_formed_ahead():
    """Otherwise the two lowest, which came first, would run first."""
    config = model(f"{LEVELS} preferred_batch_size: [2]")
    outcome = run(config, with_priorities(3, 3, 2, 1, 0, 9))

    assert [[0], [4, 3], [5, 6], [1, 2]] == outcome.groups


def test_without_levels_a_priority_means_nothing():
    """Requests run in order of arrival."""
    assert [[0], [1, 2, 3]] == run(model(), with_priorities(3, 2, 1)).groups


def test_a_full_queue_refuses():
    """Executing requests do not count."""
    config = model(policy(max_queue_size=2))
    outcome = run(config, [BUSY, *asks(60, 68, 76, 84, first=1)])

    assert [(0, [0]), (500, [1, 2])] == outcome.calls
    assert [(76, 3), (84, 4)] == outcome.refused


def test_every_level_has_its_own_size():
    """A level may have its own policy; others have the default one."""
    own = "priority_queue_policy { key: 1 value { max_queue_size: 1 } }"
    config = model(f"{LEVELS} {own} {policy(max_queue_size=2)}")
    outcome = run(config, with_priorities(1, 1, 2, 2, 2, 3))

    assert [2, 5] == [name for _, name in outcome.refused]
    assert [[0], [1, 3, 4, 6]] == outcome.groups


def test_a_timeout_is_noticed_when_the_instance_is_free():
    """It is not noticed when it happens."""
    config = model(policy(default_timeout_microseconds=200_000))
    requests = [BUSY._replace(executes_ms=300), *asks(30, 150, first=1)]
    outcome = run(config, requests)

    assert [(300, 1)] == outcome.rejected
    assert [(0, [0]), (300, [2])] == outcome.calls


@pytest.mark.parametrize(("first_ms", "second_ms"), [(60, 700), (0.5, 350)])
def test_a_timeout_is_noticed_at_the_poll_of_a_busy_instance(first_ms, second_ms):
    """Twice a second the batcher finds the queue, then the expired request."""
    config = model(policy(default_timeout_microseconds=200_000))
    busy = BUSY._replace(executes_ms=2000)
    outcome = run(config, [busy, *asks(first_ms, second_ms, first=1)])

    assert [(1000, 1), (1000, 2)] == outcome.rejected


def test_the_poll_of_a_busy_instance_refuses_only_where_the_policy_does():
    """Requests are delayed only when the queue is walked."""
    late = policy(timeout_action="DELAY", default_timeout_microseconds=200_000)
    own = (
        "priority_queue_policy { key: 1 "
        "value { default_timeout_microseconds: 200000 } }"
    )
    busy = BUSY._replace(executes_ms=2000)
    requests = [busy, Ask(1, 60, priority=1), Ask(2, 70), Ask(3, 1900)]
    outcome = run(model(f"{LEVELS} {late} {own}"), requests)

    assert [(1000, 1)] == outcome.rejected
    assert [[0], [3, 2]] == outcome.groups


def test_a_timeout_ends_the_wait_for_a_delay():
    """Triton responds to the first only after it has waited for the second."""
    delay = "max_queue_delay_microseconds: 600000"
    config = model(f"{delay} {policy(default_timeout_microseconds=200_000)}")
    outcome = run(config, asks(0, 50))

    assert [0, 1] == [name for _, name in outcome.rejected]
    assert [250, 250] == [round(at_ms) for at_ms, _ in outcome.rejected]


def test_after_a_timeout_a_fixed_shape_may_wait_for_the_next_poll():
    """Triton still expects the last size although an instance is idle."""
    delay = "max_queue_delay_microseconds: 300000"
    settings = f"{delay} {policy(default_timeout_microseconds=100_000)}"
    outcome = run(model(settings, dims=2), asks(0, 150, 300))

    assert [100, 600, 600] == [round(at_ms) for at_ms, _ in outcome.rejected]


def test_delayed_requests_go_behind_those_in_time():
    """They are executed in the end."""
    late = policy(timeout_action="DELAY", default_timeout_microseconds=100_000)
    config = model(f"{late} preferred_batch_size: [2]")
    requests = [BUSY._replace(executes_ms=300), *asks(30, 60, 250, 270, first=1)]
    outcome = run(config, requests)

    assert [(0, [0]), (300, [3, 4]), (310, [1, 2])] == outcome.calls


def test_a_delayed_request_is_executed_although_it_was_cancelled():
    """Only requests in time are checked, as on the real server."""
    late = policy(timeout_action="DELAY", default_timeout_microseconds=50_000)
    times = {"executes_ms": 200}
    requests = [
        BUSY._replace(executes_ms=300),
        Ask(1, 30, **times),
        Ask(2, 60, leaves_ms=350, **times),
        Ask(3, 70),
    ]
    outcome = run(model(late, largest=1), requests)

    assert [(0, [0]), (300, [1]), (500, [2]), (700, [3])] == outcome.calls
    assert [] == outcome.cancelled


def test_a_delayed_request_stays_before_the_next_level():
    """It only follows requests of its own level."""
    late = policy(timeout_action="DELAY", default_timeout_microseconds=100_000)
    requests = [
        BUSY,
        Ask(1, 60, priority=1),
        Ask(2, 450, priority=2),
        Ask(3, 460, priority=1),
    ]

    assert [[0], [3, 1, 2]] == run(model(f"{LEVELS} {late}"), requests).groups


@pytest.mark.parametrize(
    ("default_us", "overrides", "own_us", "deadline_us"),
    [
        (500, True, 200, 200),
        (500, True, 900, 500),
        (500, True, 0, 500),
        (500, False, 200, 500),
        (0, True, 200, None),
        (0, False, 200, None),
    ],
)
def test_a_request_can_only_lower_its_timeout(
    default_us, overrides, own_us, deadline_us
):
    """The policy must have a timeout and allow it."""
    rules = QueuePolicy(timeout_us=default_us, overrides=overrides)
    queued = Queued(None, 1, {}, timeout_us=own_us)

    expected = 0 if deadline_us is None else 7_000 + deadline_us * 1000
    assert expected == rules.deadline_ns(queued, 7_000)


def test_a_cancelled_request_is_removed_when_an_instance_is_free():
    """The batcher does not look earlier."""
    config = model(policy(max_queue_size=5))
    requests = [BUSY, Ask(1, 60, leaves_ms=100), Ask(2, 120)]
    outcome = run(config, requests)

    assert [(500, 1)] == outcome.cancelled
    assert [[0], [2]] == outcome.groups
