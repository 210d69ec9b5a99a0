"""Responses that are delivered in the order of their requests."""

from __future__ import annotations

from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.threads.waiter import Waiter


class DeliveryTurn:
    """The place of a request in the order of responses.

    Parameters
    ----------
    before
        That of the previous request; None for the first one.
    """

    __slots__ = ("_before", "_over")

    def __init__(self, before: DeliveryTurn | None) -> None:
        self._over = Waiter()
        self._before = None if before is None else before._over

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
