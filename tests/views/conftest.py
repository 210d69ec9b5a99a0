"""What the specifications of the views share."""

import pytest

from blsnb.views.live import trace_view


class Watch:
    """Simulates the duration of a flush."""

    def __init__(self):
        self.step_ns = self._now_ns = 0

    def __call__(self):
        self._now_ns += self.step_ns
        return self._now_ns


@pytest.fixture(autouse=True)
def watch(monkeypatch):
    """Simulate that a flush takes no time, however slow the machine is."""
    watch = Watch()
    monkeypatch.setattr(trace_view, "perf_counter_ns", watch)
    return watch
