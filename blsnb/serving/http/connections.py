"""Connections: which connection is closed when there are too many."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

C = TypeVar("C", bound=Hashable)
STALLED_S = 10.0
"""Seconds without a byte after which half a request counts as abandoned."""


class Connections(Generic[C]):
    """What each connection of a port is doing, and since when. Not thread-safe.

    Parameters
    ----------
    most
        Maximum number of connections.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        # Each in the order of its times: what waits longest comes first.
        self._idle: dict[C, float] = {}
        self._reading: dict[C, float] = {}
        self._working: set[C] = set()

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._idle) + len(self._reading) + len(self._working)

    @property
    def is_full(self) -> bool:
        """Whether a further connection is one too many."""
        return len(self) >= self._most

    def rests(self, connection: C, now_s: float) -> None:
        """Note a connection that waits for its next request."""
        self.remove(connection)
        self._idle[connection] = now_s

    def reads(self, connection: C, now_s: float) -> None:
        """Note that a part of a request arrived."""
        self.remove(connection)
        self._reading[connection] = now_s

    def works(self, connection: C) -> None:
        """Note that a request is complete, and being answered."""
        self.remove(connection)
        self._working.add(connection)

    def remove(self, connection: C) -> None:
        """Forget a connection that was closed."""
        self._idle.pop(connection, None)
        self._reading.pop(connection, None)
        self._working.discard(connection)

    def victim(self, now_s: float) -> C | None:
        """Return the connection to close for a new one; None if all are in use.

        That is the one that is idle for the longest time; if none is, the one whose
        request has been incomplete, without a byte, for the longest time.
        """
        for connection in self._idle:
            return connection
        for connection, since_s in self._reading.items():
            return connection if now_s - since_s >= STALLED_S else None
        return None
