"""Random models under a rate limiter: resources, priorities and instances."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import pytest

from .test_rate_limiter import folder, group, played, running

__all__ = ["folder"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


class Rates(NamedTuple):
    """Models, the resources of a server, and orders in which models are called."""

    models: dict[str, str]
    resources: dict[str, Any]
    orders: list[str]


def rates(seed: int) -> Rates:
    """Return the models of a seed; each fits into the server's resources."""
    rng = random.Random(seed)
    names = "abc"[: rng.randint(2, 3)]
    models = {}
    for name in names:
        needs = [f"R:{rng.randint(1, 2)}"]
        needs += [f"device D:{rng.randint(1, 2)}"] if rng.random() < 0.4 else []
        count = rng.choice([1, 1, 1, 2])
        models[name] = group(*needs, priority=rng.randint(0, 3), count=count)
    resources: dict[str, Any] = {}
    if rng.random() < 0.5:
        resources = {"R": rng.randint(2, 3), "D": {0: rng.randint(2, 3)}}
    orders = ["".join(rng.choices(names, k=rng.randint(4, 8))) for _ in range(3)]
    return Rates(models, resources, orders)


@pytest.mark.parametrize("seed", range(1, 9))
def test_requests_share_resources(agree, folder, seed):
    """The same executions run together, and the others follow in the same order."""
    drawn = rates(seed)

    def case(target):
        place = folder()
        with running(target, place, drawn.models, drawn.resources) as (server, answers):
            return [answers, [played(server, place, order) for order in drawn.orders]]

    agree(case)
