"""Random scripts for the dynamic batcher: preferred sizes, delays, order, a cache."""

from __future__ import annotations

import random

import pytest

from .covering import rows
from .timed import UNIT_S, Script, Step, given_up, play_in_time, takes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SEEDS = {"sizes": (2, 3, 5, 8, 9, 11, 19), "cache": (3, 5)}
"""Scripts in which no two events are so close that chance decides.

With priorities and policies the real server starts requests late by chance; see
`docs/deviations.md`.
"""


def batching(kind: str, rng: random.Random) -> str:
    """Return a scheduler's settings."""
    text = ""
    if rng.random() < 0.6:
        sizes = sorted(rng.sample([1, 2, 3, 4], rng.randint(1, 2)))
        text += f"preferred_batch_size: {sizes} "
    if rng.random() < 0.6:
        text += f"max_queue_delay_microseconds: {rng.choice([300_000, 600_000])} "
    if rng.random() < 0.3:
        text += "preserve_ordering: true "
    cache = "response_cache { enable: true }" if kind == "cache" else ""
    count = rng.choice([1, 1, 2])
    return (
        f"dynamic_batching {{ {text} }} {cache} "
        f"instance_group {{ kind: KIND_CPU count: {count} }}"
    )


def script(kind: str, seed: int) -> Script:
    """Return the script of a seed."""
    rng = random.Random(f"{kind} {seed}")
    settings, steps, unit = batching(kind, rng), [], 0
    for number in range(rng.randint(4, 8)):
        fields = dict(given_up(rng, 0.1))
        count = 1 if kind == "cache" else rng.choice([1, 1, 2, 3])
        id = takes(rng, str(number), 0, 0, 1, 3)
        steps.append(Step(unit * UNIT_S, id, count, fields, rng.randint(1, 3)))
        unit += rng.choice([1, 1, 1, 2])
    return Script(settings, 4, tuple(steps))


@rows("r4.2/preferred_batch_size-4-5")
@pytest.mark.parametrize(
    ("kind", "seed"), [(kind, seed) for kind, seeds in SEEDS.items() for seed in seeds]
)
def test_requests_at_random_times(agree, beside, kind, seed):
    """Batches form in the same way, and the same requests are refused."""
    agree(lambda target: play_in_time(beside(target), script(kind, seed)))
