"""Random samples for warm-up: what models see, and which loads fail."""

from __future__ import annotations

import random

import numpy as np
import pytest

from .test_warmup import FINAL, folder, sending
from .warmups import ANSWER, BATCHING, DECOUPLED, Warmed, loaded, sample

__all__ = ["folder"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
MODELS = 8
SENT = sending(f"sender.send(flags={FINAL})")
FILES = {
    "FP32": np.arange(30, dtype=np.float32).tobytes(),
    "INT32": np.arange(30, dtype=np.int32).tobytes(),
    "STRING": b"\1\0\0\0a\2\0\0\0bc\0\0\0\0" * 10,
}


def warmed(rng: random.Random) -> Warmed:
    """Draw a model and its samples.

    Of several instances any one may be the first to fail, so such models have none
    that fails. In which order the inputs of a sample are sent is by chance, so only a
    single one has random data.
    """
    inputs = {
        name: rng.choice(["FP32[3]", "INT32[2]", "STRING[3]", "FP32[-1]"])
        for name in "XZ"[: rng.randint(1, 2)]
    }
    batches, decoupled = rng.random() < 0.7, rng.random() < 0.3
    count = rng.choice([1, 1, 2])
    more = [f"instance_group {{ count: {count} kind: KIND_CPU }}"]
    more += [BATCHING] if batches else []
    more += [DECOUPLED] if decoupled else []
    if batches and rng.random() < 0.4:
        more += ["dynamic_batching { max_queue_delay_microseconds: 1000 }"]
    faults = 0.08 if count == 1 else 0.0
    sizes = [1, 1, 2, 3, 4] if batches else [1]
    samples = tuple(
        drawn(rng, f"s{number}", inputs, sizes, faults)
        for number in range(rng.randint(1, 3))
    )
    return Warmed(
        samples,
        SENT if decoupled else ANSWER,
        " ".join(more),
        " ".join(f"{name}:{kind}" for name, kind in inputs.items()),
        files=dict(FILES),
    )


def drawn(
    rng: random.Random,
    name: str,
    inputs: dict[str, str],
    sizes: list[int],
    faults: float,
) -> str:
    """Draw a sample; a share of them has a wrong shape or size."""
    texts = {}
    for each, kind in inputs.items():
        if rng.random() < faults:
            kind = f"{kind.partition('[')[0]}[4]"
        elif "-1" in kind:
            kind = kind.replace("-1", str(rng.randint(1, 4)))
        source = rng.choice(["zero", kind.partition("[")[0], "random"])
        if source == "random" and len(inputs) > 1:
            source = "zero"
        texts[each] = f"{kind} {source}"
    size = 5 if rng.random() < faults else rng.choice(sizes)
    return sample(f"batch_size: {size} count: {rng.randint(0, 3)}", name, **texts)


def models(seed: int) -> dict[str, Warmed]:
    """Return the models of a seed; a name says whether their data is random."""
    rng = random.Random(seed)
    found = {}
    for number in range(MODELS):
        each = warmed(rng)
        has_random = any("random_data" in text for text in each.samples)
        found[f"{'random' if has_random else 'known'}_{number}"] = each
    return found


@pytest.mark.parametrize("seed", range(1, 5))
def test_samples_of_any_kind(agree, folder, seed):
    """Models see the same requests, and the same loads fail with the same texts."""
    agree(lambda target: loaded(target, folder(), models(seed)))
