"""Specification of what is said of a model that still runs for an ended request."""

from __future__ import annotations

import time
from types import SimpleNamespace

from blsnb.clock.pausing_clock import CLOCK
from blsnb.engine.request import abandoned

HOUR_S = 3600


def test_it_is_said_since_when_a_model_runs(monkeypatch):
    """The time of day is that of the beginning of its execution."""
    began_ns = CLOCK.now_ns() - HOUR_S * 10**9
    execution = SimpleNamespace(
        call=SimpleNamespace(compute_start_ns=began_ns),
        instance=SimpleNamespace(name="slow"),
    )
    monkeypatch.setattr(abandoned, "line_of", lambda _: " line 3 of model.py")
    first = time.time() - HOUR_S
    text = abandoned._Abandoned(execution, root=None).text()
    last = time.time() - HOUR_S

    assert text in {
        "slow is still running line 3 of model.py, since "
        f"{time.strftime('%H:%M:%S', time.localtime(seconds))}: Ctrl-C did not end it"
        for seconds in range(int(first), int(last) + 1)
    }
