"""Roots: the requests from outside that may still be on their way."""

from __future__ import annotations

import contextlib
import time
import weakref

from blsnb.engine.request.lifetime import RootRequest
from blsnb.errors import ServerClosedError


class Roots:
    """What a server that closes waits for; a request that nobody holds is none.

    Takes no lock: the collector may remove a request anywhere.
    """

    def __init__(self) -> None:
        self._roots: weakref.WeakSet[RootRequest] = weakref.WeakSet()

    def __repr__(self) -> str:
        return f"<Roots: {len(self._roots)}>"

    def add(self, root: RootRequest) -> None:
        """Note that a request begins."""
        self._roots.add(root)

    def discard(self, root: RootRequest) -> None:
        """Note that a request is over."""
        self._roots.discard(root)

    def all(self) -> list[RootRequest]:
        """Return those that are there now."""
        while True:
            # Others come and go meanwhile, which ends a look at the set.
            with contextlib.suppress(RuntimeError):
                return list(self._roots)

    def drain(self, timeout_s: float) -> None:
        """Wait until all are done; end those that are not by then."""
        deadline = time.monotonic() + timeout_s
        for root in self.all():
            left_s = max(0.0, deadline - time.monotonic())
            if root.ended is None and not root.done.wait(left_s):
                root.end(ServerClosedError())
