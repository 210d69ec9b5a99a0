"""Cancellation of a request whose client leaves before the response."""

from __future__ import annotations

from collections.abc import Callable


class Cancellation:
    """Callbacks that run when the client leaves. Thread-safe."""

    def __init__(self) -> None:
        self._callbacks: list[Callable[[], None]] = []
        self.happened = False

    def add(self, callback: Callable[[], None]) -> None:
        """Add a callback; it runs at once if the client has left."""
        self._callbacks.append(callback)
        if self.happened:
            callback()

    def cancel(self) -> None:
        """Run all callbacks; one that is added at the same time may run twice."""
        self.happened = True
        for callback in list(self._callbacks):
            callback()
