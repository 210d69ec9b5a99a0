"""Random changes of configurations: the one that is loaded, or the first mistake."""

from __future__ import annotations

import random
from typing import Any

import pytest
from model.accepted import ACCEPTED
from model.refusals import CREATE, POLL

from blsnb.errors import ModelConfigError
from blsnb.model.config import parse_pbtxt
from blsnb.model.text.text_format import print_message

from .changes import Changes
from .loading import load
from .targets import Target

pytestmark = pytest.mark.timeout(300)  # A busy machine loads, or answers, slowly.
CONFIGURATIONS = 40
"""Number of configurations of a seed; each that is valid starts a process."""
NUMBERS = [0, 1, -1, 2, 3, 4, 7, 8, -2, 100]
TEXTS = ["", "X", "Y", "S", "IS", "OS", "a", "A b", "é", "$", "x/y", "4"]
LEFT_OUT = {
    "cc_model_filenames",
    "default_model_filename",
    "max_inflight_requests",
    "metric_tags",
    "model_metrics",
    "model_repository_agents",
    "model_warmup",
    "name",
    "runtime",
    "state",
}
"""Fields of later releases, fields with which 2.51 hangs or ends, states without type
(a deviation), paths of libraries."""


def changed(rng: random.Random) -> str:
    """Draw a configuration, and change it in one to three places."""
    message = parse_pbtxt(rng.choice(_SEEDS)).message
    changes = Changes(rng, NUMBERS, TEXTS, LEFT_OUT)
    for _ in range(rng.choice([1, 1, 2, 3])):
        changes.change(message)
    message.backend = message.backend or "python"
    return print_message(message)


def _is_parsed(text: str) -> bool:
    try:
        parse_pbtxt(text)
    except ModelConfigError:
        return False
    return True


_TEXTS = sorted({*ACCEPTED.values(), *(each.pbtxt for each in (*POLL, *CREATE))})
_SEEDS = [text for text in _TEXTS if _is_parsed(text)]


def loads(target: Target, seed: int) -> list[Any]:
    """Load the configurations of a seed."""
    rng = random.Random(seed)
    texts = [changed(rng) for _ in range(CONFIGURATIONS)]
    return [load(target, f"m{number}", text) for number, text in enumerate(texts)]


@pytest.mark.parametrize("seed", range(4))
def test_random_configurations(agree, beside, seed):
    """Each is loaded as on Triton, or refused with its text."""
    agree(lambda target: loads(beside(target), seed))
