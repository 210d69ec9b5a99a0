"""State that a test shares with its models; instances share nothing else."""

from __future__ import annotations

import threading
from typing import Any


class Events(dict[str, threading.Event]):
    """Events by name, each created when a thread first looks it up.

    Not a `defaultdict`: two threads at once could get two events of one name.
    """

    def __missing__(self, name: str) -> threading.Event:
        """Create an event, unless another thread has just created it."""
        return self.setdefault(name, threading.Event())


seen: list[Any] = []
"""Values that models have appended, in order."""
events = Events()
"""Events by name; a model that would otherwise sleep waits for one."""
barriers: dict[str, threading.Barrier] = {}
values: dict[str, Any] = {}
_over = threading.Event()


def sleep(name: str = "end", seconds: float = 60) -> None:
    """Set the event ``asleep``, and wait for an event or the end of the test."""
    if not _over.is_set():
        events["asleep"].set()
        events[name].wait(seconds)


def begin() -> None:
    """Begin a test: models can sleep."""
    _over.clear()


def clear() -> None:
    """End a test: wake sleeping models and reset all state."""
    _over.set()
    for barrier in barriers.values():
        barrier.abort()
    for event in list(events.values()):
        event.set()
    for shared in (seen, events, barriers, values):
        shared.clear()
