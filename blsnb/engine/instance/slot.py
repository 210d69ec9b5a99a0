"""Slots of a pool, the requests that wait for one, and the last ones that need one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, final

from blsnb.engine.instance.instance import ModelInstance
from blsnb.engine.request.inflight import Inflight
from blsnb.engine.threads.waiter import Waiter


class Retired(Exception):
    """The model was unloaded or reloaded since the request looked it up."""


@final
class AbandonedSlot:
    """A pool slot whose instance is still busy with an abandoned request."""

    def __init__(self, instance: ModelInstance) -> None:
        self.instance = instance
        self.waiter = Waiter()
        """Woken when the instance is released after all."""
        self.filled = False
        """Whether a new instance has the slot and the old one no longer serves."""


PoolSlot: TypeAlias = ModelInstance | AbandonedSlot
"""A free instance, or a slot whose instance must be replaced first."""


class WaitingRequest:
    """A request in the queue of a pool, and the slot that it receives."""

    def __init__(self) -> None:
        self.waiter = Waiter()
        self.slot: PoolSlot | None = None


class LastRequests:
    """Requests that need an instance of an unloaded model.

    Parameters
    ----------
    lock
        That of the pool; `finalizable` is called while it is held.
    on_answer
        Called after the answer to a request of `expect_answers`.

    References
    ----------
    core: src/backend_model.cc, TritonModel::~TritonModel
    """

    def __init__(self, lock: threading.Lock, on_answer: Callable[[], None]) -> None:
        self._lock = lock
        self._on_answer = on_answer
        self._unanswered: set[Inflight] = set()
        self._idle: list[ModelInstance] = []
        """Instances that wait for the others."""
        self._is_over = False
        """Whether they were finalized: one that is released later does not wait."""

    def expect_answers(self, inflights: Iterable[Inflight]) -> None:
        """Note that the model answers requests of a batch after ``execute``."""
        with self._lock:
            # Some end without an answer.
            known = (*self._unanswered, *inflights)
            self._unanswered = {each for each in known if each.is_open}

    def note_answered(self, inflight: Inflight) -> None:
        """Note the end of a request, if its answer was expected."""
        if inflight in self._unanswered:
            with self._lock:
                self._unanswered.discard(inflight)
            self._on_answer()

    def finalizable(
        self, present: Sequence[ModelInstance], freed: Iterable[ModelInstance]
    ) -> list[ModelInstance]:
        """Return the free instances, once no request needs one of all.

        Parameters
        ----------
        present
            All instances that are not finalized.
        freed
            Those that no request uses any longer.
        """
        self._idle += freed
        self._is_over = self._is_over or not self._are_needed(present)
        if not self._is_over:
            return []
        idle, self._idle = self._idle, []
        # Triton begins with the last instance.
        return [each for each in reversed(present) if each in idle]

    def _are_needed(self, present: Sequence[ModelInstance]) -> bool:
        busy = (each.execution for each in present if each not in self._idle)
        return any(each is None or each.root.ended is None for each in busy) or any(
            each.is_open for each in self._unanswered
        )
