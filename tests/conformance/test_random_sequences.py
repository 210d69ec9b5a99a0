"""Random scripts for both strategies of sequences, with all slots taken at times."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from .covering import rows
from .test_sequences import END, START, sequences
from .timed import (
    DELAYS_S,
    UNIT_S,
    Script,
    Step,
    given_up,
    microseconds,
    play_in_time,
    takes,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SEEDS = {"direct": (1, 2, 5, 14, 16, 19), "oldest": (3, 6, 10, 14, 15)}
"""Scripts in which no two events are so close that chance decides.

The real server ends the first execution of a model up to 0.2 seconds late.
"""


def strategy(kind: str, size: int, rng: random.Random) -> Script:
    """Draw the settings of a scheduler, and the number of instances."""
    delay_s = rng.choice(DELAYS_S)
    delay = f"max_queue_delay_microseconds: {microseconds(delay_s)} "
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
    delays_s = (delay_s,) if delay in text else ()
    settings = sequences(f"{kind} {{ {text} }}")
    return Script(settings, size, (), rng.choice([1, 1, 2]), delays_s)


def script(kind: str, seed: int) -> Script:
    """Return the script of a seed: four sequences that begin, go on and end."""
    rng = random.Random(f"{kind} {seed}")
    empty = strategy(kind, rng.choice([1, 2, 4]), rng)
    steps, unit, open_ = [], 0, set()
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
    return replace(empty, steps=tuple(steps))


@rows("r4.3/start-end-in-one-request")
@pytest.mark.parametrize(
    ("kind", "seed"), [(kind, seed) for kind, seeds in SEEDS.items() for seed in seeds]
)
def test_sequences_at_random_times(agree, beside, kind, seed):
    """They get slots in the same order, and the same requests are refused."""

    def case(target):
        drawn = script(kind, seed)
        return play_in_time(beside(target), drawn).comparable(drawn)

    agree(case)
