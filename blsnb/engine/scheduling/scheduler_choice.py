"""The scheduler that a model configuration needs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from blsnb.engine.instance.executor import Executor
from blsnb.engine.instance.pool import InstancePool
from blsnb.engine.metrics.statistics import ModelStatistics
from blsnb.engine.scheduling.scheduler import Scheduler
from blsnb.engine.threads.alarm import Alarm
from blsnb.engine.threads.batch_workers import BatchWorkers
from blsnb.engine.threads.workers import Workers
from blsnb.errors import ModelConfigError, OutOfResourcesError
from blsnb.model.config import ModelConfig

if TYPE_CHECKING:
    from blsnb.engine.scheduling.request_queue import Queue
    from blsnb.engine.scheduling.resource_admission import ResourceAdmission


class Schedulers:
    """Makes schedulers that share the threads of a server.

    Parameters
    ----------
    alarm
        Wakes them at the end of a delay.
    workers
        Execute batches of several clients, and of ``async_exec``.
    hang_notice_s
        Time after which a wait is reported.
    rate_limits
        The rate limiter of the server; None if rates are not limited.
    """

    def __init__(
        self,
        alarm: Alarm,
        workers: Workers,
        hang_notice_s: float,
        rate_limits: ResourceAdmission | None = None,
    ) -> None:
        self._alarm = alarm
        self._shared = alarm, BatchWorkers(workers), hang_notice_s
        self._rate_limits = rate_limits

    def can_resize(self, config: ModelConfig) -> bool:
        """Whether the number of instances can change while the model serves."""
        limited = self._rate_limits is not None
        return not limited and config.scheduling != "sequence_batching"

    def _start_alarm(self) -> None:
        # Without it a request would wait forever for the end of a delay.
        try:
            self._alarm.start()
        except OutOfResourcesError as error:
            raise ModelConfigError(
                error.message, stage="create", code="INTERNAL", advice=error.advice
            ) from error

    def make(
        self,
        config: ModelConfig,
        pool: InstancePool,
        executor: Executor,
        statistics: ModelStatistics,
    ) -> Scheduler:
        """Return the scheduler of one model version.

        Raises
        ------
        ModelConfigError
            At stage ``create``: an initial state cannot be read, an instance needs
            more resources than there are, or no thread can start.
        """
        limits = self._rate_limits
        # The batchers are imported by the first model that has one.
        if limits is None and not config.scheduling:
            return executor
        self._start_alarm()
        if limits is None:
            from blsnb.engine.scheduling.queue_scheduler import QueueScheduler

            queue = _queue(config, pool, statistics)
            return QueueScheduler(queue, pool, executor, *self._shared)
        return self._staged(config, pool, executor, statistics, limits)

    def _staged(
        self,
        config: ModelConfig,
        pool: InstancePool,
        executor: Executor,
        statistics: ModelStatistics,
        limits: ResourceAdmission,
    ) -> Scheduler:
        from blsnb.engine.scheduling.dynamic_queue import StagedDynamicQueue
        from blsnb.engine.scheduling.staged_scheduler import FifoQueue, StagedScheduler

        queue: Queue
        if config.scheduling == "dynamic_batching":
            queue = StagedDynamicQueue(config, pool, statistics)
        elif config.scheduling:
            queue = _queue(config, pool, statistics)
        else:
            queue = FifoQueue(pool)
        admission = limits.enter(config, pool)
        return StagedScheduler(queue, pool, executor, *self._shared, admission)


def _queue(
    config: ModelConfig, pool: InstancePool, statistics: ModelStatistics
) -> Queue:
    """Return the batcher of a model that has one."""
    if config.scheduling == "dynamic_batching":
        from blsnb.engine.scheduling.dynamic_queue import DynamicQueue

        return DynamicQueue(config, pool, statistics)
    from blsnb.engine.scheduling.sequence_queue import SequenceQueue

    read = partial(_initial_state, pool)
    log = pool.instances[0].backend.log
    return SequenceQueue(config, pool, statistics, read, log)


def _initial_state(pool: InstancePool, name: str) -> bytes:
    """Read a file with the initial state of sequences from the model's folder."""
    from blsnb.engine.scheduling.sequences.states import FOLDER

    model_dir = Path(pool.instances[0].model_file).parents[1]
    return (model_dir / FOLDER / name).read_bytes()
