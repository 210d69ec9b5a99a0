"""ModelVersion in service: its instances, and the way of a request through one."""

from __future__ import annotations

import gc
import itertools
import time
import weakref
from typing import Any

from blsnb.engine import hang
from blsnb.engine.answers import fail_all, failed, take_results
from blsnb.engine.inflight import Execution, Inflight
from blsnb.engine.instance import ExecuteFailed, HookFailed, ModelInstance
from blsnb.engine.iterations import Iterations
from blsnb.engine.outputs import OutputNotes
from blsnb.engine.pool import Deadlock, InstancePool
from blsnb.engine.reshape import Reshapes
from blsnb.engine.root import Unwind
from blsnb.engine.statistics import ModelStatistics
from blsnb.engine.streaming import StreamInflight
from blsnb.engine.threads import Abandoned
from blsnb.engine.validation import RequestValidator
from blsnb.model.config import ModelConfig
from blsnb.pb_utils.message import ResponseMessage
from blsnb.pb_utils.request import InferenceRequest, receive_request, wants_again
from blsnb.trace.events import ModelInfo

_now = time.monotonic_ns
_execution_numbers = itertools.count(1)
_COLLECT_AFTER_S = 0.2
_ZERO_COPY = "BLSNB_ZERO_COPY"
_NO_BATCHING = (
    "This model has dynamic_batching, which this release of blsnb does not do yet: "
    "each request is executed alone, as on an idle Triton without a delay."
)
_TRUE = ("1", "true", "yes", "on")


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
        self._outputs = tuple(spec.name for spec in config.outputs)
        self.decoupled = config.decoupled
        self.iterative = config.iterative
        self._iterations = Iterations()
        self._batching = config.max_batch_size > 0
        self.says_ready = any(i.ready_hook is not None for i in pool.instances)
        """Whether the model has a word on its readiness."""
        self._batches = config.scheduling == "dynamic_batching" and self._batching
        self._reshapes = Reshapes(config)
        self._output_notes = OutputNotes(config)
        self._zero_copy = config.parameters.get(_ZERO_COPY, "").lower() in _TRUE

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
        call = inflight.call
        try:
            instance, request = self._execute_until_done(inflight, certain)
        except HookFailed as failure:
            # A fresh instance should have taken over from one left behind.
            return self._refuse(inflight, failure)
        if not inflight.final:
            self._wait_for_sender(inflight, request, instance.execute_place)
        call.request_end_ns = _now()
        self._count(inflight)
        response = inflight.response
        assert response is not None
        if response.error is None:
            for note in self._output_notes.of(response, inflight.requested):
                inflight.note(note)
        if self._reshapes.any:
            response.outputs = self._reshapes.outward(response.outputs)
        return response

    def stream(self, inflight: StreamInflight, certain: bool) -> None:
        """Run ``execute`` for a decoupled request; its responses come when they come.

        Parameters
        ----------
        certain
            Whether the thread of another ``execute`` waits for the first response.
        """
        try:
            instance, request = self._execute_until_done(inflight, certain)
        except HookFailed as failure:
            inflight.abandon(self._refuse(inflight, failure))
        except Unwind:
            return
        else:
            inflight.executed(request, instance.execute_place)

    def _execute_until_done(
        self, inflight: Inflight, certain: bool
    ) -> tuple[ModelInstance, weakref.ref[Any]]:
        """Run ``execute``, and again as long as the model wants the request back."""
        inflight.call.queue_start_ns = _now()
        if self._batches:
            inflight.note(_NO_BATCHING)
        if self.iterative:
            inflight.message = self._iterations.first(inflight.message)
        while True:
            instance = self._take(inflight, certain)
            request = self._execute(instance, inflight)
            if not inflight.again:
                return instance, request
            inflight.again = False
            if not self.iterative:
                instance.backend.log("ERROR", hang.RESCHEDULED)
                inflight.root.end(hang.rescheduled(inflight))
                raise Unwind
            # Each run counts as a request, as on Triton.
            inflight.call.request_end_ns = _now()
            self._count(inflight)
            inflight.call.request_end_ns = 0
            inflight.message = self._iterations.next(inflight.message)

    def _take(self, inflight: Inflight, certain: bool) -> ModelInstance:
        try:
            return self.pool.take(inflight, certain)
        except Deadlock as deadlock:
            model = inflight.message.model_name
            count = len(self.pool.instances)
            inflight.root.end(hang.deadlocked(deadlock.lines, model, count))
            raise Unwind from None

    def ended(self, inflight: StreamInflight) -> None:
        """Count a decoupled request whose stream has ended."""
        inflight.call.request_end_ns = _now()
        self._count(inflight)

    def _refuse(self, inflight: Inflight, failure: HookFailed) -> ResponseMessage:
        inflight.call.request_end_ns = _now()
        text = failed(self.info.name, failure.text)
        return ResponseMessage(error=text, cause=failure.cause)

    def _execute(self, instance: ModelInstance, inflight: Inflight) -> weakref.ref[Any]:
        """Run ``execute``; return a weak hold on the model's request object."""
        __tracebackhide__ = True
        call = inflight.call
        execution = Execution(instance, inflight, next(_execution_numbers))
        instance.execution = inflight.execution = execution
        call.instance = instance.name
        call.execution = execution.number
        call.batch = 1
        inflight.requested = inflight.requested or self._outputs
        call.compute_start_ns = _now()
        request = self._receive(instance, inflight)
        call.compute_input_end_ns = _now()
        try:
            results = instance.execute(inflight.root, [request])
            call.compute_output_start_ns = _now()
            if inflight.root.ended is not None:
                raise Unwind
            inflight.again = wants_again(request)
            if execution.watched is not None:
                execution.note_unasked()
            take_results(results, [inflight], instance.name)
        except ExecuteFailed as failure:
            call.compute_output_start_ns = _now()
            text = failed(instance.name, failure.text)
            fail_all([inflight], text, failure.cause)
        except Abandoned as left:
            left.outcome.then(lambda: self._leave(instance, inflight))
            raise Unwind from None
        except BaseException:
            self._leave(instance, inflight)
            raise
        call.compute_end_ns = _now()
        self._leave(instance, inflight)
        return weakref.ref(request)

    def _receive(self, instance: ModelInstance, inflight: Inflight) -> InferenceRequest:
        message = inflight.message
        inputs = message.inputs
        if self._reshapes.any:
            inputs = self._reshapes.inward(inputs)
        return receive_request(
            instance.request_class,
            message,
            inputs,
            inflight.requested,
            inflight,
            self._zero_copy,
        )

    def _leave(self, instance: ModelInstance, inflight: Inflight) -> None:
        instance.execution = inflight.execution = None
        self.pool.give_back(instance)

    def _wait_for_sender(
        self, inflight: Inflight, request: weakref.ref[Any], where: str
    ) -> None:
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

    def _count(self, inflight: Inflight) -> None:
        inputs = inflight.message.inputs
        batch_size = inputs[0].shape[0] if self._batching and inputs else 1
        self.statistics.add(inflight.call, batch_size, inflight.failed)

    def retire(self) -> None:
        """Finalize the instances, each when it is free."""
        self.pool.retire()
