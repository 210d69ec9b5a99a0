"""Simulated time: actions in the order of their times."""

from __future__ import annotations

import heapq
from collections.abc import Callable

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
        heapq.heappush(self._actions, (max(ns, self.now_ns), self._added, action))

    def after(self, ns: int, action: Action) -> None:
        """Run an action after a duration."""
        self.at(self.now_ns + ns, action)

    def run(self, until_ns: int | None = None) -> None:
        """Run all actions; with a limit those up to this time."""
        actions = self._actions
        while actions and (until_ns is None or actions[0][0] <= until_ns):
            self.now_ns, _, action = heapq.heappop(actions)
            action()
