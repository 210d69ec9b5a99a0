"""What a measurement does to the garbage collections of its process."""

from __future__ import annotations

import gc
import time

import pytest

from blsnb.benchmark.arrivals import Arrivals
from blsnb.benchmark.level import Level, Load, Sample
from blsnb.benchmark.measure import closed_row, open_row

WINDOW_S = 0.01


class CountingClient:
    """Answers at once, and counts the frozen objects."""

    stream = False

    def __init__(self):
        self.frozen: list[int] = []

    def send(self, level: Level, number: int, began_ns: int = 0) -> None:
        """Answer a request."""
        self.frozen.append(gc.get_freeze_count())
        now_ns = time.monotonic_ns()
        level.add(number, Sample(began_ns or now_ns, now_ns, now_ns))


@pytest.fixture
def unfrozen():
    """Let collections visit all objects, as in a kernel; the tests have frozen them."""
    gc.unfreeze()
    yield
    gc.freeze()


def closed(client: CountingClient) -> None:
    """Measure one request of a client."""
    closed_row(client, 1, Load(60, 1))


def opened(client: CountingClient) -> None:
    """Measure one request at its time."""
    open_row(client, Arrivals(1 / WINDOW_S, [0], WINDOW_S))


@pytest.mark.parametrize("measure", [closed, opened])
@pytest.mark.usefixtures("unfrozen")
def test_collections_do_not_visit_older_objects_during_a_measurement(measure):
    """Half a million of them would stop all clients for 50 ms."""
    client = CountingClient()
    measure(client)

    [during] = client.frozen
    assert during > 1_000
    assert 0 == gc.get_freeze_count()


@pytest.mark.usefixtures("unfrozen")
def test_what_somebody_has_frozen_stays_frozen():
    """Unfreezing is for all objects or none."""
    kept = [[]]
    gc.freeze()
    closed(CountingClient())

    assert gc.get_freeze_count() > 1_000
    assert not any(each is kept for each in gc.get_objects())
