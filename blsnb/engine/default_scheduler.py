"""DefaultScheduler: each request alone, first come, first served."""

from __future__ import annotations

import time
from typing import NamedTuple, NoReturn, Protocol

from blsnb.engine import hang
from blsnb.engine.executor import Executor, Held
from blsnb.engine.inflight import Inflight
from blsnb.engine.instance import ModelInstance
from blsnb.engine.iterations import Iterations
from blsnb.engine.pool import Deadlock, InstancePool
from blsnb.engine.root import Unwind
from blsnb.engine.statistics import ModelStatistics
from blsnb.pb_utils.message import ResponseMessage
from blsnb.pb_utils.request import RELEASE_ALL

_now = time.monotonic_ns


class Executed(NamedTuple):
    """A request that was executed: by whom, and what the model holds of it."""

    instance: ModelInstance
    request: Held


class Scheduler(Protocol):
    """Decides when, where and with which others a request is executed."""

    def run(self, inflight: Inflight, certain: bool) -> Executed | ResponseMessage:
        """Have a request executed, waiting until it was; or say why it never was.

        Parameters
        ----------
        certain
            Whether this blocks the thread of an ``execute``.

        Raises
        ------
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

    def retire(self) -> None:
        """Finalize the instances when the last request is done."""


class DefaultScheduler:
    """Executes each request alone, as Triton does where no batcher is configured.

    Parameters
    ----------
    iterative
        Whether a request may come back until it is answered.
    """

    def __init__(
        self,
        pool: InstancePool,
        executor: Executor,
        statistics: ModelStatistics,
        iterative: bool,
    ) -> None:
        self._pool = pool
        self._executor = executor
        self._statistics = statistics
        self._iterations = Iterations() if iterative else None

    def run(self, inflight: Inflight, certain: bool) -> Executed:
        """Have a request executed; again as long as the model wants it back."""
        __tracebackhide__ = True
        if self._iterations is not None:
            inflight.message = self._iterations.first(inflight.message)
        while True:
            instance = take(self._pool, inflight, certain)
            (request,) = self._executor.execute(instance, [inflight])
            if not inflight.again:
                return Executed(instance, request)
            inflight.root.check()
            self._come_back(inflight)

    def _come_back(self, inflight: Inflight) -> None:
        """Count a run that asked for another: each is a request, as on Triton."""
        assert self._iterations is not None
        inflight.release_flags = RELEASE_ALL
        inflight.call.request_end_ns = _now()
        inflight.count_in(self._statistics)
        inflight.call.request_end_ns = 0
        inflight.message = self._iterations.next(inflight.message)

    @property
    def waiting_count(self) -> int:
        """Number of requests that wait for an instance."""
        return self._pool.waiting_count

    def retire(self) -> None:
        """Finalize the instances, each when it is free."""
        self._pool.retire()


def take(pool: InstancePool, inflight: Inflight, certain: bool) -> ModelInstance:
    """Return a free instance; end the request if there will never be one."""
    try:
        return pool.take(inflight, certain)
    except Deadlock as deadlock:
        refuse_deadlock(pool, inflight, deadlock)


def refuse_deadlock(
    pool: InstancePool, inflight: Inflight, deadlock: Deadlock
) -> NoReturn:
    """End a request whose wait would never end, with all that it is part of."""
    model = inflight.message.model_name
    count = len(pool.instances)
    inflight.root.end(hang.deadlocked(deadlock.lines, model, count))
    raise Unwind from None
