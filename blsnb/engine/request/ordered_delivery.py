"""Responses that are delivered in the order of their requests."""

from __future__ import annotations

from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.threads.waiter import Waiter


class DeliveryTurn:
    """The place of a request in the order of responses."""

    __slots__ = ("_before", "_over")

    def __init__(self, before: Waiter | None, over: Waiter) -> None:
        self._before = before
        self._over = over

    def wait(self, root: RootRequest) -> None:
        """Wait until the response to the previous request was delivered.

        Raises
        ------
        Unwind
            The request ended.
        """
        if self._before is not None:
            root.wait(self._before)

    def end(self) -> None:
        """Let the next response be delivered, whether or not this one was."""
        self._over.wake()


class DeliveryOrder:
    """Delivers responses in request order. Not thread-safe."""

    def __init__(self) -> None:
        self._last: Waiter | None = None

    def next(self) -> DeliveryTurn:
        """Return the turn after the last one."""
        before, self._last = self._last, Waiter()
        return DeliveryTurn(before, self._last)
