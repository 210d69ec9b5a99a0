"""What tests and their models share."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import stage


def test_threads_that_look_up_an_event_at_once_get_the_same_one(monkeypatch):
    """One of two events that are created at the same time is dropped."""
    both = threading.Barrier(2)

    def created() -> threading.Event:
        both.wait(60)
        return threading.Event()

    monkeypatch.setattr(stage, "threading", SimpleNamespace(Event=created))
    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(stage.events.__getitem__, "busy") for _ in range(2)]
        first, second = [each.result(60) for each in found]

    assert first is second
