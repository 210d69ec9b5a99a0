"""Random scripts for the dynamic batcher: sizes, delays, order, priorities, a cache."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from .covering import rows
from .timed import (
    DELAYS_S,
    SHORT_S,
    UNIT_S,
    Script,
    Step,
    given_up,
    microseconds,
    play_held,
    play_in_time,
    takes,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SEEDS: dict[str, tuple[int, ...]] = {
    "sizes": (1, 2, 4, 7, 8, 9),
    "cache": (1, 2, 3),
    "order": (2, 8, 16, 19, 28, 31),
}
"""Scripts in which no two events are so close that chance decides."""
LONG_S = 60.0


def script(kind: str, seed: int) -> Script:
    """Return the script of a seed."""
    rng = random.Random(f"{kind} {seed}")
    empty = scheduler(kind, rng)
    steps, unit = [], 0
    for number in range(rng.randint(4, 8)):
        fields = given_up(rng, 0.1)
        count = 1 if kind == "cache" else rng.choice([1, 1, 2, 3])
        id = takes(rng, str(number), 0, 0, 1, 3)
        steps.append(Step(unit * UNIT_S, id, count, fields, rng.randint(1, 3)))
        unit += rng.choice([1, 1, 1, 2])
    return replace(empty, steps=tuple(steps))


def scheduler(kind: str, rng: random.Random) -> Script:
    """Draw preferred sizes, a delay, a cache, instances."""
    text, delays_s = "", ()
    if rng.random() < 0.6:
        sizes = sorted(rng.sample([1, 2, 3, 4], rng.randint(1, 2)))
        text += f"preferred_batch_size: {sizes} "
    if rng.random() < 0.6:
        delays_s = (rng.choice(DELAYS_S),)
        text += f"max_queue_delay_microseconds: {microseconds(delays_s[0])} "
    text += "preserve_ordering: true " if kind == "order" else ""
    cache = "response_cache { enable: true }" if kind == "cache" else ""
    instances = rng.choice([2, 3] if kind == "order" else [1, 1, 2])
    settings = f"dynamic_batching {{ {text} }} {cache}"
    return Script(settings, 4, (), instances, delays_s)


def policies_script(seed: int) -> Script:
    """Return requests for a queue with priorities, policies, or both."""
    rng = random.Random(f"policies {seed}")
    levels = rng.choice([0, 2, 3])
    text = ""
    if levels:
        default = rng.randint(1, levels)
        text += f"priority_levels: {levels} default_priority_level: {default} "
    if not levels or rng.random() < 0.7:
        text += f"default_queue_policy {{ {policy(rng)} }} "
    for level in range(1, levels + 1):
        if rng.random() < 0.4:
            value = policy(rng)
            text += f"priority_queue_policy {{ key: {level} value {{ {value} }} }} "
    if rng.random() < 0.3:
        text += f"preferred_batch_size: {[rng.randint(2, 4)]} "
    steps = tuple(
        Step(0, f"r{number}", rng.choice([1, 1, 2, 3]), wishes(levels, rng))
        for number in range(rng.randint(5, 9))
    )
    return Script(f"dynamic_batching {{ {text} }}", 4, steps)


def policy(rng: random.Random) -> str:
    """Draw a queue policy."""
    timeout_s = rng.choice([0.0, SHORT_S, LONG_S])
    text = (
        f"timeout_action: {rng.choice(['REJECT', 'DELAY'])} "
        f"default_timeout_microseconds: {microseconds(timeout_s)} "
        f"allow_timeout_override: {rng.choice(['true', 'false'])} "
    )
    return text + rng.choice(["", f"max_queue_size: {rng.randint(1, 3)} "])


def wishes(levels: int, rng: random.Random) -> dict[str, float]:
    """Draw priority, timeout and deadline of a request."""
    fields: dict[str, float] = {}
    if levels and rng.random() < 0.7:
        fields["priority"] = rng.randint(0, 3)
    if rng.random() < 0.3:
        fields["timeout"] = microseconds(rng.choice([SHORT_S, LONG_S]))
    if rng.random() < 0.1:
        fields["deadline_s"] = SHORT_S
    return fields


@rows("r4.2/preferred_batch_size-4-5")
@pytest.mark.parametrize(
    ("kind", "seed"), [(kind, seed) for kind, seeds in SEEDS.items() for seed in seeds]
)
def test_requests_at_random_times(agree, beside, kind, seed):
    """The same batches form, requests are refused, and responses are in order."""

    def case(target):
        drawn = script(kind, seed)
        played = play_in_time(beside(target), drawn)
        order = [played.answered()] if kind == "order" else []
        return [*played.comparable(drawn), *order]

    agree(case)


@rows(
    "r4.2/max_queue_size-n",
    "r4.2/default_timeout_microseconds-reject",
    "r4.2/allow_timeout_override",
    "r4.2/cancelled-while-waiting-in-a-dynamic",
)
@pytest.mark.parametrize("seed", range(1, 16))
def test_requests_of_any_priority_wait(agree, beside, seed):
    """Priorities, timeouts and full queues decide who leaves, and with whom."""
    agree(lambda target: play_held(beside(target), policies_script(seed)))
