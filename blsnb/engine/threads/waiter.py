"""Waiter: a wait that can be woken once, and that Ctrl-C reaches."""

from __future__ import annotations

import threading


class Waiter:
    """A one-shot event; cheaper than threading.Event, and as interruptible."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def wake(self) -> None:
        """End the wait, now or when it begins; more calls change nothing."""
        try:
            self._lock.release()
        except RuntimeError:
            # Was woken before: the lock is free already.
            return

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until woken; return whether it was, before the time was over."""
        __tracebackhide__ = True
        if not self._lock.acquire(timeout=-1 if timeout_s is None else timeout_s):
            return False
        self.wake()
        return True
