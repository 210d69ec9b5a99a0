"""DefaultScheduler: each request alone, first come, first served."""

from __future__ import annotations

from typing import NoReturn, Protocol

from blsnb.engine.instance.executor import Executor
from blsnb.engine.instance.instance import ModelInstance
from blsnb.engine.instance.pool import Deadlock, InstancePool
from blsnb.engine.request import hang_report as hang
from blsnb.engine.request.deadlock import lacks_resources
from blsnb.engine.request.inflight import Inflight
from blsnb.engine.request.lifetime import Unwind
from blsnb.pb_utils.message import ResponseMessage


class Rejected(Exception):
    """A request has its scheduler's error for an answer: it was never executed."""

    def __init__(self, response: ResponseMessage) -> None:
        super().__init__(response.error)
        self.response = response


class Scheduler(Protocol):
    """Decides when, where and with which others a request is executed."""

    def run(self, inflight: Inflight, certain: bool) -> ModelInstance:
        """Have a request executed, waiting until it was; return by whom.

        Parameters
        ----------
        certain
            Whether this blocks the thread of an ``execute``.

        Raises
        ------
        Rejected
            It never was.
        RequestError
            The scheduler refuses the request.
        HookFailed
            No instance could be made for it.
        Retired
            Another version of the model serves now, or none.
        Unwind
            The whole request has ended.
        """

    @property
    def waiting_count(self) -> int:
        """Number of requests that wait."""

    def resized(self) -> None:
        """Learn that its pool has other instances than before."""

    def retire(self) -> None:
        """Finalize the instances when the last request is done."""


class DefaultScheduler:
    """Executes each request alone, as Triton does where no batcher is configured."""

    def __init__(self, pool: InstancePool, executor: Executor) -> None:
        self._pool = pool
        self._executor = executor

    def run(self, inflight: Inflight, certain: bool) -> ModelInstance:
        """Have a request executed as soon as an instance is free."""
        __tracebackhide__ = True
        try:
            instance = self._pool.take(inflight, certain)
        except Deadlock as deadlock:
            refuse_deadlock(self._pool, inflight, deadlock)
        self._executor.execute(instance, [inflight])
        return instance

    @property
    def waiting_count(self) -> int:
        """Number of requests that wait for an instance."""
        return self._pool.waiting_count

    def resized(self) -> None:
        """Do nothing: the pool itself has handed new instances over."""

    def retire(self) -> None:
        """Finalize the instances, each when it is free."""
        self._pool.retire()


def refuse_deadlock(
    pool: InstancePool, inflight: Inflight, deadlock: Deadlock
) -> NoReturn:
    """End a request whose wait would never end, with all that it is part of."""
    model = inflight.message.model_name
    reason = hang.deadlocked(deadlock.lines, model, len(pool.instances))
    if lacks_resources(pool):
        reason = hang.out_of_resources(deadlock.lines, model)
    inflight.root.end(reason)
    raise Unwind from None
