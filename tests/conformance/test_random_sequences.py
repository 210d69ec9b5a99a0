"""Random scripts for both strategies of sequences, with all slots taken at times."""

from __future__ import annotations

import random

import pytest

from .covering import rows
from .test_sequences import END, START, sequences
from .timed import UNIT_S, Script, Step, given_up, play_in_time, takes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SEEDS = {"direct": (1, 2, 14, 16, 19, 39), "oldest": (3, 7, 10, 14, 21, 22, 26, 29)}
"""Scripts in which no two events are so close that chance decides."""


def strategy(kind: str, size: int, rng: random.Random) -> str:
    """Return a scheduler's settings."""
    delay = f"max_queue_delay_microseconds: {rng.choice([300_000, 600_000])} "
    text = ""
    if kind == "direct":
        if rng.random() < 0.5:
            text = f"{delay} minimum_slot_utilization: {rng.choice([0.5, 1.0])} "
    else:
        text = f"max_candidate_sequences: {rng.choice([1, 2, 3])} "
        if rng.random() < 0.5 and size > 1:
            text += f"preferred_batch_size: [ {rng.randint(1, size)} ] "
        if rng.random() < 0.7:
            text += delay
    count = rng.choice([1, 1, 2])
    return (
        f"{sequences(f'{kind} {{ {text} }}')} "
        f"instance_group {{ kind: KIND_CPU count: {count} }}"
    )


def script(kind: str, seed: int) -> Script:
    """Return the script of a seed: four sequences that begin, go on and end."""
    rng = random.Random(f"{kind} {seed}")
    size = rng.choice([1, 2, 4])
    settings, steps, unit, open_ = strategy(kind, size, rng), [], 0, set()
    for number in range(rng.randint(4, 8)):
        sequence = rng.randint(1, 4)
        fields = {"sequence_id": sequence, **given_up(rng, 0.15)}
        if sequence not in open_:
            fields |= START
            open_.add(sequence)
        if rng.random() < 0.3:
            fields |= END
            open_.discard(sequence)
        id = takes(rng, f"{number}s{sequence}", 0, 0, 1, 2)
        steps.append(Step(unit * UNIT_S, id, 1, fields))
        unit += rng.choice([1, 1, 1, 2])
    for sequence in sorted(open_):
        fields = {"sequence_id": sequence, **END}
        steps.append(Step(unit * UNIT_S, f"end{sequence}", 1, fields))
        unit += 1
    return Script(settings, size, tuple(steps))


@rows("r4.3/start-end-in-one-request")
@pytest.mark.parametrize(
    ("kind", "seed"), [(kind, seed) for kind, seeds in SEEDS.items() for seed in seeds]
)
def test_sequences_at_random_times(agree, beside, kind, seed):
    """They get slots in the same order, and the same requests are refused."""
    agree(lambda target: play_in_time(beside(target), script(kind, seed)))
