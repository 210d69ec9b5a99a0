"""DefaultScheduler: executes each request alone, in order of arrival."""

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
    """The scheduler answered a request with an error instead of executing it."""

    def __init__(self, response: ResponseMessage) -> None:
        super().__init__(response.error)
        self.response = response


class Scheduler(Protocol):
    """Decides when, where and in which batch a request is executed."""

    def run(self, inflight: Inflight, certain: bool) -> ModelInstance:
        """Wait until a request was executed; return the instance that executed it.

        Parameters
        ----------
        certain
            Whether the caller blocks the thread of an ``execute``.

        Raises
        ------
        Rejected
            The request was answered with an error instead.
        RequestError
            The scheduler refuses the request.
        HookFailed
            No instance could be created.
        Retired
            The model was reloaded or unloaded.
        Unwind
            The whole client request has ended.
        """

    @property
    def waiting_count(self) -> int:
        """Number of waiting requests."""

    def resized(self) -> None:
        """Adapt to a changed number of instances in the pool."""

    def retire(self) -> None:
        """Finalize the instances after the last request."""


class DefaultScheduler:
    """Executes each request alone, as Triton does without a batcher."""

    def __init__(self, pool: InstancePool, executor: Executor) -> None:
        self._pool = pool
        self._executor = executor

    def run(self, inflight: Inflight, certain: bool) -> ModelInstance:
        """Execute a request as soon as an instance is free."""
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
        """Do nothing: the pool itself hands out new instances."""

    def retire(self) -> None:
        """Finalize each instance when it is free."""
        self._pool.retire()


def refuse_deadlock(
    pool: InstancePool, inflight: Inflight, deadlock: Deadlock
) -> NoReturn:
    """End the whole client request of a request that would wait forever."""
    model = inflight.message.model_name
    reason = hang.deadlocked(deadlock.lines, model, len(pool.instances))
    if lacks_resources(pool):
        reason = hang.out_of_resources(deadlock.lines, model)
    inflight.root.end(reason)
    raise Unwind from None
