"""LoadLock: one load or unload at a time, with everything that it causes."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Holding:
    """One hold of a lock, from its first model to its last."""

    lock: LoadLock
    names: list[str] = field(default_factory=list)
    """Models being loaded or unloaded, each by the one before; empty when over."""
    held: bool = False

    def release(self, before: _Holding | None) -> None:
        """Let the next one load; safe to repeat."""
        # A task that a hook left behind has a copy of the context.
        self.names.clear()
        if _holding.get() is self:
            _holding.set(before)
        if self.held:
            self.held = self.lock.free()


_LOOK_S = 0.05
"""Seconds between two looks at whether Ctrl-C has ended a wait."""
_holding: ContextVar[_Holding | None] = ContextVar("holding", default=None)


class LoadLock:
    """Lets one load run at a time; a hook that loads a model is part of it.

    A hook may run on a thread of its instance's own, so the lock belongs to the
    context, not to the thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def hold(self, name: str, wait_s: float | None = None) -> Iterator[None]:
        """Hold the lock while a model is loaded or unloaded.

        Parameters
        ----------
        wait_s
            After so long go on without it; None to wait for it.
        """
        mine = self._mine()
        if mine is not None:
            mine.names.append(name)
            try:
                yield
            finally:
                mine.names.pop()
            return
        first = _Holding(self, [name])
        before = _holding.get()
        # Twice: an interrupt may come in the midst of the first one.
        try:
            try:
                first.held = self._lock.acquire(
                    timeout=-1 if wait_s is None else wait_s
                )
                _holding.set(first)
                yield
            finally:
                first.release(before)
        finally:
            first.release(before)

    def free(self) -> bool:
        """Give the lock back; return that nobody holds it."""
        self._lock.release()
        return False

    def is_held_for(self, name: str) -> bool:
        """Whether the hook that asks is part of a load of this model."""
        mine = self._mine()
        return mine is not None and name in mine.names

    def _mine(self) -> _Holding | None:
        holding = _holding.get()
        if holding is None or holding.lock is not self or not holding.names:
            return None
        return holding
