"""ModelVersion in service: its instances, and the way of a request through one."""

from __future__ import annotations

import gc
import time
import weakref

from blsnb.engine import hang
from blsnb.engine.answers import failed
from blsnb.engine.default_scheduler import DefaultScheduler, Scheduler
from blsnb.engine.executor import Executor, Held
from blsnb.engine.inflight import Inflight
from blsnb.engine.instance import HookFailed
from blsnb.engine.outputs import OutputNotes
from blsnb.engine.pool import InstancePool
from blsnb.engine.root import Unwind
from blsnb.engine.statistics import ModelStatistics
from blsnb.engine.streaming import StreamInflight
from blsnb.engine.validation import RequestValidator
from blsnb.model.config import ModelConfig
from blsnb.pb_utils.message import ResponseMessage
from blsnb.trace.events import ModelInfo

_now = time.monotonic_ns
_COLLECT_AFTER_S = 0.2


class ServedVersion:
    """One version of a model that answers requests.

    Parameters
    ----------
    config
        Normalised and completed.
    info
        How the trace names it.
    pool
        Its instances.
    """

    def __init__(
        self, config: ModelConfig, info: ModelInfo, pool: InstancePool
    ) -> None:
        self.config = config
        self.info = info
        self.pool = pool
        self.validator = RequestValidator(config)
        self.statistics = ModelStatistics(info.name, info.version)
        self.decoupled = config.decoupled
        self._executor = Executor(config, pool)
        self._scheduler: Scheduler = DefaultScheduler(
            pool, self._executor, self.statistics, config.iterative
        )
        self.says_ready = any(i.ready_hook is not None for i in pool.instances)
        """Whether the model has a word on its readiness."""
        self._output_notes = OutputNotes(config)

    def unready(self) -> str:
        """Return why an instance says that it cannot serve; nothing if all can."""
        reasons = (instance.unready() for instance in self.pool.instances)
        return next((reason for reason in reasons if reason), "")

    def run(self, inflight: Inflight, certain: bool) -> ResponseMessage:
        """Run a request until its final response.

        Parameters
        ----------
        certain
            Whether this blocks the thread of an ``execute``.

        Raises
        ------
        Unwind
            The whole request has ended.
        """
        __tracebackhide__ = True
        inflight.call.queue_start_ns = _now()
        try:
            instance, request = self._scheduler.run(inflight, certain)
        except HookFailed as failure:
            # A fresh instance should have taken over from one left behind.
            return self._refuse(inflight, failure)
        if not inflight.final:
            self._wait_for_sender(inflight, request, instance.execute_place)
        self.ended(inflight)
        response = inflight.response
        assert response is not None
        if response.error is None:
            for note in self._output_notes.of(response, inflight.requested):
                inflight.note(note)
        response.outputs = self._executor.outward(response.outputs)
        return response

    def stream(self, inflight: StreamInflight, certain: bool) -> None:
        """Run ``execute`` for a decoupled request; its responses come when they come.

        Parameters
        ----------
        certain
            Whether the thread of another ``execute`` waits for the first response.
        """
        inflight.call.queue_start_ns = _now()
        try:
            instance, request = self._scheduler.run(inflight, certain)
        except HookFailed as failure:
            inflight.abandon(self._refuse(inflight, failure))
        except Unwind:
            return
        else:
            inflight.executed(request, instance.execute_place)

    def ended(self, inflight: Inflight) -> None:
        """Count a request whose final response was sent."""
        inflight.call.request_end_ns = _now()
        inflight.count_in(self.statistics)

    def _refuse(self, inflight: Inflight, failure: HookFailed) -> ResponseMessage:
        inflight.call.request_end_ns = _now()
        text = failed(self.info.name, failure.text)
        return ResponseMessage(error=text, cause=failure.cause)

    def _wait_for_sender(self, inflight: Inflight, request: Held, where: str) -> None:
        """Wait for an answer that something of the model still owes."""
        waiter = inflight.expect_later()
        held = request()
        watch = None
        if held is not None:
            watch = weakref.ref(held, lambda _: self._dropped(inflight, where))
            del held
        else:
            self._dropped(inflight, where)
        if not waiter.wait(_COLLECT_AFTER_S):
            # A request in a circle of references is held by nobody.
            gc.collect()
        inflight.root.wait(waiter, lambda s: hang.notice(inflight, s))
        del watch

    def _dropped(self, inflight: Inflight, where: str) -> None:
        """Nothing holds the request any more: if it is open, it stays so for ever."""
        if not inflight.final:
            inflight.root.end(hang.unanswered(inflight, where))
            inflight.wake()

    def retire(self) -> None:
        """Finalize the instances, each when it is free."""
        self._scheduler.retire()
