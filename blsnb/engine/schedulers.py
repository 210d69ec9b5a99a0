"""Schedulers: makes the scheduler that a configuration asks for."""

from __future__ import annotations

from blsnb.engine.alarm import Alarm
from blsnb.engine.default_scheduler import DefaultScheduler, Scheduler
from blsnb.engine.dynamic_queue import DynamicQueue
from blsnb.engine.executor import Executor
from blsnb.engine.pool import InstancePool
from blsnb.engine.queue_scheduler import QueueScheduler
from blsnb.engine.statistics import ModelStatistics
from blsnb.engine.workers import Workers
from blsnb.model.config import ModelConfig


class Schedulers:
    """What all schedulers of a server share.

    Parameters
    ----------
    alarm
        Calls them when a delay is over.
    workers
        Execute for several clients at once.
    hang_notice_s
        After this long a wait is reported.
    """

    def __init__(self, alarm: Alarm, workers: Workers, hang_notice_s: float) -> None:
        self._alarm = alarm
        self._workers = workers
        self._hang_notice_s = hang_notice_s

    def make(
        self,
        config: ModelConfig,
        pool: InstancePool,
        executor: Executor,
        statistics: ModelStatistics,
    ) -> Scheduler:
        """Return the scheduler of one model version."""
        if config.scheduling == "dynamic_batching":
            return QueueScheduler(
                DynamicQueue(config, pool),
                pool,
                executor,
                self._alarm,
                self._workers,
                self._hang_notice_s,
            )
        return DefaultScheduler(pool, executor, statistics, config.iterative)
