"""Requests of one level: those in time, then those that expired."""

from __future__ import annotations

import pytest

from blsnb.engine.scheduling.batching.batch import Queued, QueueFull
from blsnb.engine.scheduling.batching.policy_queue import (
    PolicyQueue,
    QueuePolicy,
    Skipped,
)
from blsnb.engine.scheduling.batching.priority_queue import PriorityQueue
from blsnb.model.config import parse_pbtxt

US = 1000
DELAYS = "timeout_action: DELAY"
REJECTS = "default_timeout_microseconds: 7"


def batching(text: str):
    """Return the settings of a dynamic batcher."""
    return parse_pbtxt(f"dynamic_batching {{ {text} }}").message.dynamic_batching


def policy(text: str) -> QueuePolicy:
    """Return a policy as it is configured."""
    settings = batching(f"default_queue_policy {{ {text} }}")
    return QueuePolicy.of(settings.default_queue_policy)


def queued(name: str, timeout_us: int = 0, is_cancelled: bool = False) -> Queued[str]:
    """Return a request that waits."""
    request = Queued(name, 1, {}, cancelled=lambda: is_cancelled)
    request.timeout_us = timeout_us
    return request


def names(requests) -> list[str]:
    return [each.request for each in requests]


@pytest.mark.parametrize(
    ("text", "expected", "waits"),
    [
        ("", QueuePolicy(False, 0, False, 0), True),
        (DELAYS, QueuePolicy(True, 0, False, 0), True),
        (REJECTS, QueuePolicy(False, 7, False, 0), False),
        ("allow_timeout_override: true", QueuePolicy(False, 0, True, 0), False),
        ("max_queue_size: 1", QueuePolicy(False, 0, False, 1), False),
    ],
)
def test_a_policy_is_read_from_its_configuration(text, expected, waits):
    """Without a timeout or a limit all requests wait."""
    assert expected == policy(text)
    assert waits is policy(text).waits_for_all
    assert QueuePolicy() == policy("")


@pytest.mark.parametrize(
    ("settings", "timeout_us", "expires_us"),
    [
        (QueuePolicy(), 5, None),
        (QueuePolicy(overrides=True), 5, None),
        (QueuePolicy(timeout_us=7), 5, 7),
        (QueuePolicy(timeout_us=7, overrides=True), 0, 7),
        (QueuePolicy(timeout_us=7, overrides=True), 1, 1),
        (QueuePolicy(timeout_us=7, overrides=True), 6, 6),
        (QueuePolicy(timeout_us=7, overrides=True), 8, 7),
    ],
)
def test_a_request_can_lower_the_timeout_of_its_policy(
    settings, timeout_us, expires_us
):
    """Without one of the policy it never expires."""
    now_ns = 100
    request = queued("a", timeout_us)
    expected = 0 if expires_us is None else now_ns + expires_us * US
    queue = PolicyQueue(settings)
    queue.add(request, now_ns)

    assert expected == settings.deadline_ns(request, now_ns)
    assert expected == request.deadline_ns


@pytest.mark.parametrize("delays", [False, True])
def test_an_expired_request_is_rejected_or_delayed(delays):
    """It is in time up to its deadline; a cancelled one leaves the queue."""
    queue = PolicyQueue(QueuePolicy(delays, timeout_us=1, overrides=True))
    for request in (queued("a"), queued("b", is_cancelled=True)):
        queue.add(request, 0)
    queue.add(queued("c"), 1)
    skipped = Skipped()

    assert ["a", "c"] == names(queue.walk(US, skipped))
    assert (["b"], []) == (names(skipped.cancelled), skipped.rejected)
    assert 2 == len(queue)
    walked = names(queue.walk(US + 1, skipped))
    assert (["c", "a"] if delays else ["c"]) == walked
    assert ([] if delays else ["a"]) == names(skipped.rejected)
    assert (["c"], ["a"] if delays else []) == (
        names(queue.in_time),
        names(queue.late),
    )
    assert [0] * delays == [each.deadline_ns for each in queue.late]


@pytest.mark.parametrize("delays", [False, True])
def test_a_busy_instance_rejects_expired_requests_and_delays_none(delays):
    """One without a deadline stays."""
    queue = PolicyQueue(QueuePolicy(delays, timeout_us=1))
    queue.add(queued("a"), 0)
    queue.add(queued("b"), 1)
    queue.in_time[1].deadline_ns = 0
    skipped = Skipped()

    queue.reject_expired(US, skipped)
    assert ["a", "b"] == names(queue.in_time)
    queue.reject_expired(US + 1, skipped)
    assert (["a", "b"] if delays else ["b"]) == names(queue.in_time)
    assert ([] if delays else ["a"]) == names(skipped.rejected)
    assert [] == skipped.cancelled


def test_late_requests_are_taken_last():
    """A request that is removed is not taken."""
    queue = PolicyQueue(QueuePolicy(True, timeout_us=1))
    requests = [queued(name) for name in "abcd"]
    for at_ns, request in zip((0, US, US, US), requests, strict=True):
        queue.add(request, at_ns)
    assert ["b", "c", "d", "a"] == names(queue.walk(US + 1, Skipped()))

    assert queue.remove(requests[1])
    assert not queue.remove(requests[1])
    assert [] == queue.take(0)
    assert ["c"] == names(queue.take(1))
    assert ["d", "a"] == names(queue.take(5))
    queue.late.append(requests[0])
    assert queue.remove(requests[0])
    assert 0 == len(queue)


@pytest.mark.parametrize("most", [1, 2])
def test_a_full_queue_refuses_the_next_request(most):
    """Without a limit it is never full."""
    limited, free = (
        PolicyQueue(QueuePolicy(max_queue_size=each)) for each in (most, 0)
    )
    for _ in range(most):
        limited.add(queued("a"), 0)
        free.add(queued("a"), 0)
    free.add(queued("a"), 0)
    with pytest.raises(QueueFull):
        limited.add(queued("a"), 0)
    assert (most, most + 1) == (len(limited), len(free))


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("", [0, 0, 0, 0, 0]),
        ("priority_levels: 3 default_priority_level: 2", [2, 1, 2, 3, 2]),
        ("priority_levels: 1 default_priority_level: 1", [1, 1, 1, 1, 1]),
    ],
)
def test_an_unknown_priority_is_that_of_the_default_level(text, levels):
    """Without levels it has no meaning."""
    queue = PriorityQueue(batching(text))

    assert levels == [queue.level_of(priority) for priority in range(5)]


POLICIES = {
    "no policy": ("", True, False, False),
    "levels": ("priority_levels: 2 default_priority_level: 1", False, False, False),
    "a limit": ("default_queue_policy { max_queue_size: 3 }", False, False, False),
    "no timeout": (f"default_queue_policy {{ {DELAYS} }}", True, False, False),
    "a timeout": (f"default_queue_policy {{ {REJECTS} }}", False, False, True),
    "a delay": (f"default_queue_policy {{ {DELAYS} {REJECTS} }}", False, True, True),
    "a delay of a level without requests": (
        "priority_levels: 2 default_priority_level: 1 "
        f"priority_queue_policy {{ key: 2 value {{ {DELAYS} {REJECTS} }} }}",
        False,
        True,
        False,
    ),
}


@pytest.mark.parametrize(
    ("text", "waits", "may_delay", "has_timeouts"), POLICIES.values(), ids=POLICIES
)
def test_what_a_batcher_asks_of_its_queue(text, waits, may_delay, has_timeouts):
    """An empty queue has no request that could expire."""
    queue = PriorityQueue(batching(text))
    assert (waits, may_delay) == (queue.waits_for_all, queue.may_delay)
    assert not queue.has_timeouts
    queue.add(queued("a"), 0)

    assert has_timeouts is bool(queue.has_timeouts)
    assert (1, ["a"]) == (len(queue), names(queue))


def test_a_level_has_its_own_policy_or_the_default_one():
    """The policy of a level that does not exist has no effect."""
    queue = PriorityQueue(
        batching(
            "priority_levels: 2 default_priority_level: 2 "
            "default_queue_policy { max_queue_size: 5 } "
            "priority_queue_policy { key: 1 value { max_queue_size: 1 } }"
        )
    )

    assert [5, 1, 5, 5] == [queue.policy_of(n).max_queue_size for n in range(4)]
    queue.add(queued("b"), 0)
    first = queued("a")
    first.priority = 1
    queue.add(first, 0)
    assert ["a", "b"] == names(queue)
    with pytest.raises(QueueFull):
        queue.add(first, 0)


@pytest.mark.parametrize(("levels", "kept"), [(16, 16), (17, 1)])
def test_few_levels_are_kept_without_requests(levels, kept):
    """A configuration may have billions of them."""
    queue = PriorityQueue(batching("priority_levels: 99 default_priority_level: 1"))
    for priority in range(1, levels + 1):
        request = queued(str(priority))
        request.priority = priority
        queue.add(request, 0)

    assert [str(n) for n in range(1, levels)] == names(queue.take(levels - 1))
    assert kept == len(queue._levels) == len(queue._in_order)
    assert [str(levels)] == names(queue)


def test_a_request_of_any_level_is_removed():
    """One that is not there is no error."""
    queue = PriorityQueue(batching("priority_levels: 2 default_priority_level: 2"))
    request = queued("a")
    queue.add(request, 0)

    assert [True, False] == [queue.remove(request), queue.remove(request)]
    assert 0 == len(queue)


def test_expired_requests_of_all_levels_are_rejected():
    """They are in the order of the levels."""
    queue = PriorityQueue(
        batching(
            "priority_levels: 2 default_priority_level: 2 "
            f"default_queue_policy {{ {REJECTS} }}"
        )
    )
    for name, priority in (("b", 2), ("a", 1)):
        request = queued(name)
        request.priority = priority
        queue.add(request, 0)

    assert [] == queue.reject_expired(7 * US).rejected
    assert ["a", "b"] == names(queue.reject_expired(7 * US + 1).rejected)
    assert 0 == len(queue)
