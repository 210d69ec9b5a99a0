"""What the specifications of the views share."""

import pytest

from blsnb.views.live import trace_view


class Watch:
    """Tells how long a flush takes: as long as it is told."""

    def __init__(self):
        self.step_ns = self._now_ns = 0

    def __call__(self):
        self._now_ns += self.step_ns
        return self._now_ns


@pytest.fixture(autouse=True)
def watch(monkeypatch):
    """No machine is so slow that a flush is not due when a test says it is."""
    watch = Watch()
    monkeypatch.setattr(trace_view, "perf_counter_ns", watch)
    return watch
