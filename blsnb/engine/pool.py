"""InstancePool: which instance of a model serves next; first come, first served."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from blsnb.engine import deadlock
from blsnb.engine.inflight import Inflight
from blsnb.engine.root import RootRequest
from blsnb.engine.waiter import Waiter

if TYPE_CHECKING:
    from blsnb.engine.instance import ModelInstance


class Deadlock(Exception):
    """Waiting would never end; the lines say who waits for whom."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


class Retired(Exception):
    """The model was replaced or unloaded: its successor should be asked."""


class _Waiting:
    """A request in the queue, and the instance it is handed."""

    __slots__ = ("instance", "waiter")

    def __init__(self) -> None:
        self.waiter = Waiter()
        self.instance: ModelInstance | None = None


class InstancePool:
    """The instances of one model version.

    Taking a free instance needs no lock; only a wait does, and the question
    whether it would ever end.

    Parameters
    ----------
    instances
        All of them, free.
    lock
        One for all models, since waits cross models.
    renew
        Makes an instance that takes over from one still running for a request
        that was interrupted.
    """

    def __init__(
        self,
        instances: list[ModelInstance],
        lock: threading.Lock,
        renew: Callable[[ModelInstance], ModelInstance],
    ) -> None:
        self.instances = instances
        self.retired = False
        """Whether the model was unloaded: what comes back is finalized."""
        self._free = deque(instances)
        self._queue: deque[_Waiting] = deque()
        self._lock = lock
        self._renew = renew

    @property
    def waiting_count(self) -> int:
        """Number of requests in the queue."""
        return len(self._queue)

    def take(self, inflight: Inflight, certain: bool) -> ModelInstance:
        """Return a free instance, waiting for one if need be.

        Parameters
        ----------
        certain
            Whether the wait blocks the thread of an ``execute``, so that a
            circle of waits could never be broken from elsewhere.

        Raises
        ------
        Deadlock
            The wait is certain never to end.
        Unwind
            The request ended while waiting.
        """
        if not self._queue:
            try:
                return self._free.pop()
            except IndexError:
                pass
        return self._wait(inflight, certain)

    def _wait(self, inflight: Inflight, certain: bool) -> ModelInstance:
        mine = _Waiting()
        with self._lock:
            self._queue.append(mine)
            # An instance may have come back before we stood in the queue.
            self._hand_over()
            left_behind = None if mine.instance else self._left_behind()
            if left_behind is not None:
                self._queue.remove(mine)
            elif mine.instance is None:
                inflight.waiting_for = self
                if certain and deadlock.is_deadlocked(inflight):
                    lines = deadlock.chain(inflight)
                    inflight.waiting_for = None
                    self._queue.remove(mine)
                    raise Deadlock(lines)
        if left_behind is not None:
            return self._replace(left_behind)
        if mine.instance is not None:
            return mine.instance
        return self._sleep(inflight, mine)

    def _sleep(self, inflight: Inflight, mine: _Waiting) -> ModelInstance:
        try:
            inflight.root.wait(mine.waiter)
        except BaseException:
            with self._lock:
                if mine.instance is not None:
                    self._free.append(mine.instance)
                    self._hand_over()
                elif mine in self._queue:
                    self._queue.remove(mine)
            raise
        finally:
            inflight.waiting_for = None
        assert mine.instance is not None
        return mine.instance

    def _left_behind(self) -> ModelInstance | None:
        """Return an instance that still runs for a request which has ended."""
        for instance in self.instances:
            execution = instance.execution
            if execution is not None and execution.root.ended is not None:
                return instance
        return None

    def _replace(self, old: ModelInstance) -> ModelInstance:
        fresh = self._renew(old)
        with self._lock:
            position = self.instances.index(old)
            self.instances[position] = fresh
        return fresh

    def leave_behind(self, root: RootRequest) -> None:
        """Let fresh instances take over from those that run for an ended request."""

    def give_back(self, instance: ModelInstance) -> None:
        """Take an instance back after its ``execute``."""
        if instance not in self.instances:
            instance.finalize()
            return
        self._free.append(instance)
        if self._queue:
            with self._lock:
                self._hand_over()
        elif self.retired:
            self.retire()

    def _hand_over(self) -> None:
        while self._queue and self._free:
            waiting = self._queue.popleft()
            waiting.instance = self._free.pop()
            waiting.waiter.wake()

    def retire(self) -> None:
        """Finalize the free instances; busy ones follow when they come back."""
        self.retired = True
        while self._free:
            self._free.pop().finalize()
