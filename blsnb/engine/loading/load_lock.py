"""Run one load or unload at a time, together with the loads that it causes."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar

from blsnb.engine.threads.waiter import Waiter


class _Hold:
    """One hold of a lock, from its first model to its last."""

    def __init__(self, lock: LoadLock, name: str) -> None:
        self.lock = lock
        self.names: tuple[str, ...] = (name,)
        """Models being loaded or unloaded, each because of the one before."""
        self.is_over = False
        """Set at the end, since a task that a hook started keeps the context."""


_current: ContextVar[_Hold | None] = ContextVar("hold", default=None)


class LoadLock:
    """Serializes loads; a load that a hook starts is part of the hook's load.

    A hook may run on a thread of its instance, so a hold belongs to the context, not
    to the thread. Interrupts may come at any time.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._owner: _Hold | None = None
        self._waiting: list[Waiter] = []

    @contextlib.contextmanager
    def hold(self, name: str, wait_s: float | None = None) -> Iterator[None]:
        """Hold the lock while a model is loaded or unloaded.

        Parameters
        ----------
        wait_s
            Maximum wait, after which the block runs without the lock.
        """
        outer = self._own()
        if outer is not None:
            names = outer.names
            try:
                outer.names = (*names, name)
                yield
            finally:
                outer.names = names
            return
        hold = _Hold(self, name)
        before = _current.get()
        # Released twice: the first time may be interrupted.
        try:
            try:
                self._acquire(hold, wait_s)
                _current.set(hold)
                yield
            finally:
                self._release(hold, before)
        finally:
            self._release(hold, before)

    def _acquire(self, hold: _Hold, wait_s: float | None) -> None:
        end = None if wait_s is None else time.monotonic() + wait_s
        while True:
            with self._mutex:
                if self._owner is None:
                    self._owner = hold
                    return
                waiter = Waiter()
                self._waiting.append(waiter)
            if not waiter.wait(None if end is None else max(0, end - time.monotonic())):
                return

    def _release(self, hold: _Hold, before: _Hold | None) -> None:
        hold.is_over = True
        if _current.get() is hold:
            _current.set(before)
        with self._mutex:
            if self._owner is hold:
                for waiter in self._waiting:
                    waiter.wake()
                self._waiting = []
                # Last: after an interrupt until here, the second release does it all.
                self._owner = None

    @property
    def is_busy(self) -> bool:
        """Whether a load is in progress, of this context or another."""
        return self._owner is not None

    def is_held_for(self, name: str) -> bool:
        """Whether the caller is part of a load of this model."""
        own = self._own()
        return own is not None and name in own.names

    def _own(self) -> _Hold | None:
        hold = _current.get()
        return None if hold is None or hold.lock is not self or hold.is_over else hold
