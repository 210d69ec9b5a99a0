"""A one-shot event whose wait Ctrl-C interrupts."""

from __future__ import annotations

import threading


class Waiter:
    """A one-shot event; cheaper than threading.Event, and as interruptible."""

    __slots__ = ("_is_woken", "_lock")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()
        self._is_woken = False

    def wake(self) -> None:
        """End the wait, now or when it begins; further calls do nothing."""
        self._is_woken = True
        try:
            self._lock.release()
        except RuntimeError:
            # Woken before: the lock is already free.
            return

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until woken; return False after the timeout."""
        __tracebackhide__ = True
        # A signal's handler may wait while a wait that it interrupts has the lock.
        if self._is_woken:
            return True
        if not self._lock.acquire(timeout=-1 if timeout_s is None else timeout_s):
            return False
        self.wake()
        return True
