"""Let loads of unrelated models run at the same time, and related ones in order."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TypeAlias

from blsnb.engine.threads.waiter import Waiter

Names: TypeAlias = frozenset[str]
ALL_MODELS = ""
"""In place of a name: every model."""


class CrossedLoads(Exception):
    """Two loads would wait for each other indefinitely.

    Parameters
    ----------
    name
        The model that the caller wants to load.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class _Hold:
    """A load or unload of one model, and the models that it keeps to itself."""

    def __init__(self, lock: LoadLock, name: str, outer: _Hold | None) -> None:
        self.lock = lock
        self.name = name
        self.outer = outer
        """The load whose hook or ensemble caused this one; None for a client's."""
        self.first: _Hold = self if outer is None else outer.first
        """The client's load of which this one is part."""
        self.models: Names = frozenset()
        """The models that it keeps, or waits for."""
        self.waiter: Waiter | None = None
        """Wakes it while it waits for its models."""
        self.is_too_late = False
        """Whether its wait ended without its models."""
        self.is_over = False
        """Set at the end, since a task that a hook started keeps the context."""


_current: ContextVar[_Hold | None] = ContextVar("hold", default=None)


class LoadLock:
    """A lock for each set of related models.

    A load keeps all related models from its start, so that loads with models in
    common run in the order of their calls. A load that a hook starts is part of the
    hook's load: it waits for other models only, before calls of clients do.

    A hook may run on a thread of its instance, so a hold belongs to the context, not
    to the thread. Interrupts may come at any time.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._holds: list[_Hold] = []
        """All holds that wait or have their models, in the order of their calls."""

    @contextlib.contextmanager
    def hold(
        self,
        name: str,
        wait_s: float | None = None,
        related: Callable[[], Names] = frozenset,
    ) -> Iterator[None]:
        """Keep other loads from a model while it is loaded or unloaded.

        Parameters
        ----------
        name
            The model, or `ALL_MODELS`.
        wait_s
            Maximum wait, after which the block runs without the lock.
        related
            Returns the models that are loaded or unloaded together with it.

        Raises
        ------
        CrossedLoads
            The other load waits for the caller's.
        """
        before = _current.get()
        hold = _Hold(self, name, self._own())
        # Released twice: the first time may be interrupted.
        try:
            try:
                self._acquire(hold, wait_s, related)
                _current.set(hold)
                yield
            finally:
                self._release(hold, before)
        finally:
            self._release(hold, before)

    def _acquire(
        self, hold: _Hold, wait_s: float | None, related: Callable[[], Names]
    ) -> None:
        if hold.first.is_too_late:
            return
        end = None if wait_s is None else time.monotonic() + wait_s
        wanted = related() | {hold.name}
        while not wanted <= hold.models:
            self._remove(hold)
            if not self._take(hold, wanted, end):
                hold.is_too_late = True
                return
            # The relations may have changed during the wait.
            wanted |= related()

    def _take(self, hold: _Hold, models: Names, end: float | None) -> bool:
        """Wait until a hold has its models; return False after the deadline."""
        hold.models = models
        with self._mutex:
            hold.waiter = Waiter()
            self._holds.append(hold)
        while True:
            with self._mutex:
                hold.waiter = waiter = Waiter()
                if not self._blockers(hold):
                    hold.waiter = None
                    return True
                if self._is_crossed(hold):
                    raise CrossedLoads(hold.name)
            if not waiter.wait(None if end is None else max(0, end - time.monotonic())):
                self._remove(hold)
                return False

    def _blockers(self, hold: _Hold) -> list[_Hold]:
        """Return the holds of other loads that a hold waits for.

        A client's load also waits for those that waited before it.
        """
        earlier = self._holds[: self._holds.index(hold)]
        return [
            each
            for each in self._holds
            if each.first is not hold.first
            and _overlap(each.models, hold.models)
            and (each.waiter is None or (hold.outer is None and each in earlier))
        ]

    def _is_crossed(self, hold: _Hold) -> bool:
        """Whether a load that a hold waits for waits, even indirectly, for it."""
        seen: set[_Hold] = set()
        left = [hold]
        while left:
            for blocker in self._blockers(left.pop()):
                if blocker.first is hold.first:
                    return True
                if blocker.first not in seen:
                    seen.add(blocker.first)
                    left += [
                        each
                        for each in self._holds
                        if each.first is blocker.first and each.waiter is not None
                    ]
        return False

    def _remove(self, hold: _Hold) -> None:
        """Forget a hold and wake the others; without effect when repeated."""
        with self._mutex:
            if hold in self._holds:
                for each in self._holds:
                    if each.waiter is not None:
                        each.waiter.wake()
                # Last: after an interrupt until here, the second release does it all.
                self._holds.remove(hold)

    def _release(self, hold: _Hold, before: _Hold | None) -> None:
        hold.is_over = True
        if _current.get() is hold:
            _current.set(before)
        self._remove(hold)

    @property
    def is_busy(self) -> bool:
        """Whether a load is in progress, of this context or another."""
        return any(each.waiter is None for each in list(self._holds))

    def is_held_for(self, name: str) -> bool:
        """Whether the caller is part of a load of this model."""
        hold = self._own()
        while hold is not None and hold.name != name:
            hold = hold.outer
        return hold is not None

    def _own(self) -> _Hold | None:
        hold = _current.get()
        while hold is not None and (hold.lock is not self or hold.is_over):
            hold = hold.outer
        return hold


def _overlap(models: Names, others: Names) -> bool:
    if ALL_MODELS in models or ALL_MODELS in others:
        return True
    return not models.isdisjoint(others)
