"""Simulated time: actions in the order of their times."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

Action = Callable[[], None]


class Timeline:
    """Runs actions, each at its time; the clock jumps from one to the next."""

    def __init__(self) -> None:
        self.now_ns = 0
        self._actions: list[tuple[int, int, Action]] = []
        self._added = 0

    def at(self, ns: int, action: Action) -> None:
        """Run an action at a time, after those that were added for the same time."""
        self._added += 1
        if ns < self.now_ns:
            ns = self.now_ns
        heappush(self._actions, (ns, self._added, action))

    def after(self, ns: int, action: Action) -> None:
        """Run an action after a duration."""
        if ns < 0:
            ns = 0
        self._added += 1
        heappush(self._actions, (self.now_ns + ns, self._added, action))

    def run(self) -> None:
        """Run all actions."""
        actions = self._actions
        while actions:
            self.now_ns, _, action = heappop(actions)
            action()
