"""Turns: answers leave in the order in which their requests came."""

from __future__ import annotations

from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.threads.waiter import Waiter


class Turn:
    """One request's place among the answers of its model."""

    __slots__ = ("_before", "_over")

    def __init__(self, before: Waiter | None, over: Waiter) -> None:
        self._before = before
        self._over = over

    def wait(self, root: RootRequest) -> None:
        """Wait until the request before has its answer.

        Raises
        ------
        Unwind
            The request ended meanwhile.
        """
        if self._before is not None:
            root.wait(self._before)

    def end(self) -> None:
        """Let the next one have its answer, or go without."""
        self._over.wake()


class Turns:
    """Delivers responses in request order. Not thread-safe."""

    def __init__(self) -> None:
        self._last: Waiter | None = None

    def next(self) -> Turn:
        """Return the turn after the last one."""
        before, self._last = self._last, Waiter()
        return Turn(before, self._last)
