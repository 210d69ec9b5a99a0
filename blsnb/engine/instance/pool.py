"""InstancePool: which instance of a model serves next; first come, first served."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from blsnb.engine.instance.instance import ModelInstance
from blsnb.engine.instance.slot import Place, Vacancy, Waiting
from blsnb.engine.request import deadlock
from blsnb.engine.request import hang_report as hang
from blsnb.engine.request.inflight import Inflight
from blsnb.engine.request.lifetime import RootRequest

_COMES_BACK_S = 0.1
"""How long an instance may take to come back before another one is made."""


class Deadlock(Exception):
    """Waiting would never end; the lines say who waits for whom."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


class Retired(Exception):
    """The model was unloaded or loaded anew since the request looked it up."""


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
        self._going: set[ModelInstance] = set()
        """Instances that were taken out, and are not finalized yet."""
        self._parting = False
        """Whether anything that comes back may have to be finalized."""
        self.guard: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()
        """Held while free instances go, by a scheduler that counts them and claims."""
        self.on_free: Callable[[], None] | None = None
        """Is told of a free instance, where a scheduler keeps the queue."""
        self.held_up_by: Callable[[], list[ModelInstance]] = list
        """Returns who has what the instances need besides, where rates are limited."""
        self._free: deque[Place] = deque(instances)
        self._queue: deque[Waiting] = deque()
        self._left: dict[ModelInstance, Vacancy] = {}
        self._lock = lock
        self._renew = renew

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
        """Numbers of the free instances, by their place in `instances`."""
        return [self.number_of(place) for place in self._free.copy()]

    def number_of(self, place: Place) -> int:
        """Return the number of a place, by that of its instance in `instances`."""
        instance = place.instance if isinstance(place, Vacancy) else place
        return self.instances.index(instance)

    def claim(self, number: int | None = None) -> Place:
        """Return the place of a free instance, for a scheduler that saw there is one.

        Parameters
        ----------
        number
            Which one; None for the one that is free for the longest time.

        Raises
        ------
        LookupError
            There is none.
        """
        with self._lock:
            for place in self._free.copy():
                if number is None or self.number_of(place) == number:
                    self._free.remove(place)
                    return place
        raise LookupError(number)

    def unclaim(self, place: Place) -> None:
        """Take a place back in which nothing was executed."""
        with self._lock:
            if isinstance(place, Vacancy) and place.has_come_back(self._left):
                place = place.instance
            elif isinstance(place, Vacancy) and place.instance not in self.instances:
                # It was taken out meanwhile, and is finalized when it comes back.
                place.filled = True
                return
            self._free.append(place)
        self._offered()

    def expect(self, inflight: Inflight, certain: bool) -> None:
        """Note that a request waits in the queue of a scheduler.

        Raises
        ------
        Deadlock
            The wait is certain never to end.
        """
        with self._lock:
            inflight.waiting_for = self
            if certain and deadlock.is_deadlocked(inflight):
                raise Deadlock(deadlock.chain(inflight))

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
        Retired
            Another version of the model serves now, or none.
        Unwind
            The request ended while waiting.
        """
        place: Place | None = None
        if not self._queue:
            try:
                place = self._free.popleft()
            except IndexError:
                place = None
        if place is None:
            place = self._wait(inflight, certain)
        if inflight.root.on_arrival is not None:
            inflight.root.arrive()
        return self._fill(place) if type(place) is Vacancy else place

    def _wait(self, inflight: Inflight, certain: bool) -> Place:
        mine = Waiting()
        with self._lock:
            self._queue.append(mine)
            # An instance may have come back before we stood in the queue.
            self._hand_over()
            if mine.place is not None:
                return mine.place
            try:
                self._check_wait(inflight, certain)
            except BaseException:
                inflight.waiting_for = None
                self._queue.remove(mine)
                raise
        return self._sleep(inflight, mine)

    def _check_wait(self, inflight: Inflight, certain: bool) -> None:
        if self.retired:
            raise Retired
        inflight.waiting_for = self
        if certain and deadlock.is_deadlocked(inflight):
            raise Deadlock(deadlock.chain(inflight))

    def _sleep(self, inflight: Inflight, mine: Waiting) -> Place:
        inflight.root.arrive()
        try:
            inflight.root.wait(mine.waiter, lambda s: hang.notice(inflight, s))
        except BaseException:
            with self._lock:
                if mine.place is None:
                    self._queue.remove(mine)
            if mine.place is not None:
                self.unclaim(mine.place)
            raise
        finally:
            inflight.waiting_for = None
        assert mine.place is not None
        return mine.place

    def give_back(self, instance: ModelInstance) -> None:
        """Take an instance back after its ``execute``."""
        if self._left and self._is_settled(instance):
            return
        self._free.append(instance)
        if self._queue or self._parting or self.on_free is not None:
            self._offered()

    def _offered(self) -> None:
        """Let others know that something is free."""
        if self._queue:
            with self._lock:
                self._hand_over()
        if self._parting:
            self._part()
        if self.on_free is not None:
            self.on_free()

    def _tell_free(self) -> None:
        if self.on_free is not None:
            self.on_free()

    def _hand_over(self) -> None:
        while self._queue:
            try:
                # A request that saw no queue may take it before us.
                place = self._free.popleft()
            except IndexError:
                return
            waiting = self._queue.popleft()
            waiting.place = place
            waiting.waiter.wake()

    def leave_behind(self, root: RootRequest) -> None:
        """Let fresh instances take over from those that run for an ended request."""
        with self._lock:
            for instance in self.instances:
                execution = instance.execution
                if execution is None or not execution.is_left_by(root):
                    continue
                if instance in self._left:
                    continue
                vacancy = self._left[instance] = Vacancy(instance)
                # First noted, then looked at again: it may be coming back now.
                if instance.execution is execution:
                    self._free.append(vacancy)
                else:
                    del self._left[instance]
            self._hand_over()
        self._tell_free()

    def _is_settled(self, instance: ModelInstance) -> bool:
        """Whether an instance that comes back is not to be put among the free."""
        with self._lock:
            vacancy = self._left.pop(instance, None)
            if vacancy is None:
                return False
            comes_back = False
            with contextlib.suppress(ValueError):
                # Taken from there it is being filled, or waited for, already.
                self._free.remove(vacancy)
                # Who counted it among the free finds a place all the same.
                self._free.append(instance)
                comes_back = True
            if not comes_back:
                if not vacancy.filled:
                    vacancy.waiter.wake()
                    return True
                self._going.discard(instance)
        if comes_back:
            self._offered()
        else:
            instance.finalize()
        return True

    def fill(self, place: Place) -> ModelInstance:
        """Return who serves in a place: the old one if it just comes back.

        Raises
        ------
        HookFailed
            No other instance could be made; the place stays vacant.
        """
        return self._fill(place) if isinstance(place, Vacancy) else place

    def _fill(self, vacancy: Vacancy) -> ModelInstance:
        old = vacancy.instance
        if not vacancy.filled:
            came_back = vacancy.waiter.wait(_COMES_BACK_S)
            with self._lock:
                if came_back or old not in self._left:
                    return old
                vacancy.filled = True
        try:
            fresh = self._renew(old)
        except BaseException:
            with self._lock:
                # It may serve on, unless it came back meanwhile and was finalized.
                vacancy.filled = old not in self._left
                if old in self.instances:
                    self._free.append(vacancy)
                self._hand_over()
            if self.retired:
                self.retire()
            self._tell_free()
            raise
        with self._lock:
            if old in self.instances:
                self.instances[self.instances.index(old)] = fresh
            else:
                # It was taken out meanwhile: this one serves once, and goes.
                self._going.add(fresh)
                self._parting = True
        return fresh

    @property
    def present(self) -> list[ModelInstance]:
        """All instances that are not finalized, also those that were taken out."""
        with self._lock:
            return [*self.instances, *self._going]

    def change(self, kept: Sequence[int], added: Sequence[ModelInstance]) -> None:
        """Take instances out and others in; a busy one goes when it comes back.

        Parameters
        ----------
        kept
            The numbers of those that stay, in the order that they have from now on.
        added
            Free ones, which come behind them.
        """
        with self.guard, self._lock:
            before = self.instances
            self.instances = [*(before[number] for number in kept), *added]
            for number, instance in enumerate(before):
                if number not in kept:
                    self._take_out(instance)
            self._free.extend(added)
            self._hand_over()
        self._part()

    def _take_out(self, instance: ModelInstance) -> None:
        self._going.add(instance)
        self._parting = True
        vacancy = self._left.get(instance)
        if vacancy is not None and vacancy in self._free:
            # Nobody shall fill it; who left it is finalized when it comes back.
            self._free.remove(vacancy)
            vacancy.filled = True

    def _part(self) -> None:
        """Finalize what came back and shall not serve any more."""
        if self.retired:
            self.retire()
            return
        idle = []
        with self.guard, self._lock:
            for instance in list(self._going):
                # A request that just took it brings it back once more.
                with contextlib.suppress(ValueError):
                    self._free.remove(instance)
                    self._going.remove(instance)
                    idle.append(instance)
            self._parting = self.retired or bool(self._going)
        for instance in idle:
            instance.finalize()

    def retire(self) -> None:
        """Finalize the free instances; busy ones follow when they come back."""
        with self._lock:
            self.retired = self._parting = True
            self._hand_over()
            idle = list(self._take_all())
        for instance in idle:
            instance.finalize()

    def _take_all(self) -> Iterator[ModelInstance]:
        while True:
            try:
                place = self._free.popleft()
            except IndexError:
                return
            if isinstance(place, Vacancy):
                # Who left it is finalized when it comes back.
                self._left.pop(place.instance, None)
            else:
                yield place
