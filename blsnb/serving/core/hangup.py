"""Hangup: what is to be done when a client leaves before it has its answer."""

from __future__ import annotations

from collections.abc import Callable


class Hangup:
    """Calls what it was given when the client leaves; used from any thread."""

    def __init__(self) -> None:
        self._then: list[Callable[[], None]] = []
        self.happened = False

    def add(self, then: Callable[[], None]) -> None:
        """Let something be done then; at once if it has happened."""
        self._then.append(then)
        if self.happened:
            then()

    def happen(self) -> None:
        """Do all of it; some perhaps twice, which does no harm."""
        self.happened = True
        for then in list(self._then):
            then()
