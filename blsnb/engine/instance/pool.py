"""The instances of a model, assigned in order of arrival."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from blsnb.engine.instance.instance import ModelInstance
from blsnb.engine.instance.slot import (
    AbandonedSlot,
    LastRequests,
    PoolSlot,
    Retired,
    WaitingRequest,
)
from blsnb.engine.request import deadlock
from blsnb.engine.request import hang_report as hang
from blsnb.engine.request.inflight import Execution, Inflight
from blsnb.engine.request.lifetime import RootRequest

_RELEASE_S = 0.1
"""Seconds that an abandoned instance has to be released before it is replaced."""


class InstancePool:
    """The instances of one model version.

    Taking a free instance needs no lock; waiting for one does, and so does the check
    for a deadlock.

    Parameters
    ----------
    instances
        All instances; they are free.
    lock
        One for all models, since waits cross models.
    renew
        Creates an instance that replaces one which is still busy with an interrupted
        request.
    later
        Runs work on another thread, or here if none can start.
    """

    def __init__(
        self,
        instances: list[ModelInstance],
        lock: threading.Lock,
        renew: Callable[[ModelInstance], ModelInstance],
        later: Callable[[Callable[[], None]], None] = lambda work: work(),
    ) -> None:
        self.instances = instances
        self.retired = False
        """Whether the model was unloaded: its instances are finalized."""
        self.last_requests = LastRequests(lock, self._notify_free)
        self._leaving: set[ModelInstance] = set()
        """Removed instances that are not finalized yet."""
        self._has_leaving = False
        """Whether a released instance may have to be finalized."""
        self.guard: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()
        """Held while free instances are removed, and by schedulers that claim them."""
        self.on_free: Callable[[], None] | None = None
        """Called when an instance is free, if a scheduler has the queue."""
        self.resource_holders: Callable[[], list[ModelInstance]] = list
        """Returns the holders of the rate-limit resources that the instances lack."""
        self._free: deque[PoolSlot] = deque(instances)
        self._queue: deque[WaitingRequest] = deque()
        self._abandoned: dict[ModelInstance, AbandonedSlot] = {}
        self._lock = lock
        self._renew = renew
        self._later = later

    @property
    def waiting_count(self) -> int:
        """Number of requests in the queue."""
        return len(self._queue)

    @property
    def idle_count(self) -> int:
        """Number of free instances."""
        return len(self._free)

    @property
    def idle(self) -> list[int]:
        """Numbers of the free instances, by their slot in `instances`."""
        return [self.number_of(slot) for slot in self._free.copy()]

    def number_of(self, slot: PoolSlot) -> int:
        """Return the number of a slot, by that of its instance in `instances`."""
        instance = slot.instance if isinstance(slot, AbandonedSlot) else slot
        return self.instances.index(instance)

    def claim(self, number: int | None = None) -> PoolSlot:
        """Return a free slot, for a scheduler that knows there is one.

        Parameters
        ----------
        number
            Number of the slot; None for the one that has been free longest.

        Raises
        ------
        LookupError
            No instance is free.
        """
        with self._lock:
            for slot in self._free.copy():
                if number is None or self.number_of(slot) == number:
                    self._free.remove(slot)
                    return slot
        raise LookupError(number)

    def unclaim(self, slot: PoolSlot) -> None:
        """Return a slot in which nothing was executed."""
        with self._lock:
            if isinstance(slot, AbandonedSlot):
                if not slot.filled and slot.instance not in self._abandoned:
                    # The old instance was released before it was replaced.
                    slot = slot.instance
                elif slot.instance not in self.instances:
                    # Removed while it was busy: it is finalized on release.
                    slot.filled = True
                    return
            self._free.append(slot)
        self._released()

    def expect(self, inflight: Inflight, blocks_execute: bool) -> None:
        """Record that a request waits in the queue of a scheduler.

        Raises
        ------
        Deadlock
            The wait is certain never to end.
        """
        with self._lock:
            self._expect(inflight, blocks_execute)

    def _expect(self, inflight: Inflight, blocks_execute: bool) -> None:
        inflight.waiting_for = self
        if blocks_execute and deadlock.is_deadlocked(inflight):
            raise deadlock.Deadlock(deadlock.wait_cycle(inflight))

    def take(self, inflight: Inflight, blocks_execute: bool) -> ModelInstance:
        """Return a free instance; wait for one if necessary.

        Parameters
        ----------
        blocks_execute
            Whether the wait blocks the thread of an ``execute``, so that nothing else
            could break a circle of waits.

        Raises
        ------
        Deadlock
            The wait is certain never to end.
        Retired
            The version was unloaded or replaced.
        Unwind
            The request ended while waiting.
        """
        try:
            slot = None if self._queue else self._free.popleft()
        except IndexError:
            slot = None
        if slot is None:
            slot = self._wait(inflight, blocks_execute)
        if inflight.root.on_arrival is not None:
            inflight.root.arrive()
        return self.fill(slot) if type(slot) is AbandonedSlot else slot

    def _wait(self, inflight: Inflight, blocks_execute: bool) -> PoolSlot:
        request = WaitingRequest()
        with self._lock:
            self._queue.append(request)
            # An instance may have been released before the request was in the queue.
            self._assign()
            if request.slot is not None:
                return request.slot
            try:
                if self.retired:
                    raise Retired
                self._expect(inflight, blocks_execute)
            except BaseException:
                inflight.waiting_for = None
                self._queue.remove(request)
                raise
        return self._sleep(inflight, request)

    def _sleep(self, inflight: Inflight, request: WaitingRequest) -> PoolSlot:
        inflight.root.arrive()
        try:
            inflight.root.wait(request.waiter, lambda s: hang.notice(inflight, s))
        except BaseException:
            with self._lock:
                if request.slot is None:
                    self._queue.remove(request)
            if request.slot is not None:
                self.unclaim(request.slot)
            raise
        finally:
            inflight.waiting_for = None
        assert request.slot is not None
        return request.slot

    def release(self, instance: ModelInstance) -> None:
        """Release an instance after its ``execute``."""
        if self._abandoned and self._is_replaced(instance):
            return
        self._free.append(instance)
        if self._queue or self._has_leaving or self.on_free is not None:
            self._released()

    def _released(self) -> None:
        """Assign, finalize or announce what was released."""
        if self._queue:
            with self._lock:
                self._assign()
        if self._has_leaving:
            self._finalize_leaving()
        if self.on_free is not None:
            self.on_free()

    def _notify_free(self) -> None:
        if self.on_free is not None:
            self.on_free()
        if self.retired:
            # Not on a thread of the model, which `finalize` may join.
            self._later(self.retire)

    def _assign(self) -> None:
        while self._queue:
            try:
                # A request that found the queue empty may take it first.
                slot = self._free.popleft()
            except IndexError:
                return
            waiting = self._queue.popleft()
            waiting.slot = slot
            waiting.waiter.wake()

    def replace_abandoned(self, root: RootRequest) -> list[Execution]:
        """Free the slots of the instances that are busy with an ended request.

        Returns
        -------
        list of Execution
            Executions that continue.
        """
        found = []
        with self._lock:
            for instance in (*self.instances, *self._leaving):
                execution = instance.execution
                if execution is None or not execution.is_left_by(root):
                    continue
                found.append(execution)
                if instance in self._abandoned or instance in self._leaving:
                    continue
                slot = self._abandoned[instance] = AbandonedSlot(instance)
                # Checked after it is recorded: the instance may be released right now.
                if instance.execution is execution:
                    self._free.append(slot)
                else:
                    del self._abandoned[instance]
            self._assign()
        self._notify_free()
        return found

    def _is_replaced(self, instance: ModelInstance) -> bool:
        """Whether a released instance is not free: another one has its slot."""
        with self._lock:
            slot = self._abandoned.pop(instance, None)
            if slot is None:
                return False
            with contextlib.suppress(ValueError):
                # Otherwise a request fills the slot or waits for it.
                self._free.remove(slot)
                # The number of free slots stays the same.
                self._free.append(instance)
                return True
            if not slot.filled:
                slot.waiter.wake()
                return True
            self._leaving.discard(instance)
        instance.finalize()
        return True

    def fill(self, slot: PoolSlot) -> ModelInstance:
        """Return the instance of a slot: the old one if it is released in time.

        Raises
        ------
        HookFailed
            No new instance could be created; the slot stays abandoned.
        """
        if not isinstance(slot, AbandonedSlot):
            return slot
        old = slot.instance
        if not slot.filled:
            released = slot.waiter.wait(_RELEASE_S)
            with self._lock:
                if released or old not in self._abandoned:
                    return old
                slot.filled = True
        try:
            fresh = self._renew(old)
        except BaseException:
            with self._lock:
                # The old instance serves again, unless it was released and finalized.
                slot.filled = old not in self._abandoned
                if old in self.instances:
                    self._free.append(slot)
                self._assign()
            self._notify_free()
            raise
        with self._lock:
            if old in self.instances:
                self.instances[self.instances.index(old)] = fresh
            else:
                # Removed while a new instance was created: that one serves once.
                self._leaving.add(fresh)
                self._has_leaving = True
        return fresh

    @property
    def present(self) -> list[ModelInstance]:
        """All instances that are not finalized, including removed ones."""
        with self._lock:
            return [*self.instances, *self._leaving]

    def change(self, kept: Sequence[int], added: Sequence[ModelInstance]) -> None:
        """Remove instances and add others; a busy one leaves when it is released.

        Parameters
        ----------
        kept
            Numbers of the instances that stay, in their new order.
        added
            Free instances, appended to them.
        """
        with self.guard, self._lock:
            before = self.instances
            self.instances = [*(before[number] for number in kept), *added]
            for number, instance in enumerate(before):
                if number not in kept:
                    self._take_out(instance)
            self._free.extend(added)
            self._assign()
        self._finalize_leaving()

    def _take_out(self, instance: ModelInstance) -> None:
        self._leaving.add(instance)
        self._has_leaving = True
        slot = self._abandoned.get(instance)
        if slot is not None and slot in self._free:
            # No request may fill it; its instance is finalized when it is released.
            self._free.remove(slot)
            slot.filled = True

    def _finalize_leaving(self) -> None:
        """Finalize the removed instances that are free."""
        if self.retired:
            self.retire()
            return
        idle = []
        with self.guard, self._lock:
            for instance in list(self._leaving):
                # Otherwise a request just took it, and will release it again.
                with contextlib.suppress(ValueError):
                    self._free.remove(instance)
                    self._leaving.remove(instance)
                    idle.append(instance)
            self._has_leaving = self.retired or bool(self._leaving)
        for instance in idle:
            instance.finalize()

    def retire(self) -> None:
        """Finalize all instances, as soon as no request needs one of them."""
        with self._lock:
            self.retired = self._has_leaving = True
            self._assign()
            present = [*self.instances, *self._leaving]
            idle = self.last_requests.finalizable(present, self._take_all())
        for instance in idle:
            instance.finalize()

    def _take_all(self) -> Iterator[ModelInstance]:
        while True:
            try:
                slot = self._free.popleft()
            except IndexError:
                return
            if isinstance(slot, AbandonedSlot):
                # Its instance is finalized when it is released.
                self._abandoned.pop(slot.instance, None)
            else:
                yield slot
