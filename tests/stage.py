"""What a test and the models it runs share; instances share nothing else."""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import Any

seen: list[Any] = []
"""What models noted down, in order."""
events: defaultdict[str, threading.Event] = defaultdict(threading.Event)
"""Events by name; a model that would otherwise sleep waits for one."""
barriers: dict[str, threading.Barrier] = {}
values: dict[str, Any] = {}
_over = threading.Event()


def sleep(name: str = "end", seconds: float = 60) -> None:
    """Say that a model sleeps, and sleep until the test is over."""
    if not _over.is_set():
        events["asleep"].set()
        events[name].wait(seconds)


def begin() -> None:
    """Let a test begin: from now on models sleep."""
    _over.clear()


def clear() -> None:
    """End a test: wake whatever still sleeps, and forget everything."""
    _over.set()
    for barrier in barriers.values():
        barrier.abort()
    for event in list(events.values()):
        event.set()
    for shared in (seen, events, barriers, values):
        shared.clear()
