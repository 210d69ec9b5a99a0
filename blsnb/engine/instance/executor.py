"""One ``execute`` of an instance, for one request or for a batch."""

from __future__ import annotations

import asyncio
import functools
import itertools
import threading
import weakref
from collections.abc import Callable
from typing import Any

from blsnb.clock.pausing_clock import CLOCK
from blsnb.engine.instance.coroutine_hook import run_coroutine
from blsnb.engine.instance.inputs import InputOrder, Reshapes
from blsnb.engine.instance.instance import ModelInstance
from blsnb.engine.instance.placement import Placement
from blsnb.engine.instance.pool import InstancePool
from blsnb.engine.instance.results import (
    fail_all,
    fail_without_inputs,
    failed,
    take_results,
)
from blsnb.engine.request import hang_report as hang
from blsnb.engine.request.deadlock import Deadlock
from blsnb.engine.request.failure import describe
from blsnb.engine.request.inflight import Execution, Inflight
from blsnb.engine.request.interrupts import boundary
from blsnb.engine.request.lifetime import RootRequest, Unwind
from blsnb.engine.threads import async_exception
from blsnb.engine.threads.outcome import Abandoned
from blsnb.engine.threads.running_loop import without_loop
from blsnb.errors import OutOfResourcesError
from blsnb.model.config import ModelConfig
from blsnb.pb_utils.request import (
    RELEASE_ALL,
    InferenceRequest,
    receive_request,
    release_flags,
)
from blsnb.trace.lazy.call_fields import (
    COMPUTE_END,
    COMPUTE_INPUT_END,
    COMPUTE_OUTPUT_START,
    COMPUTE_START,
    EXECUTION,
)

Hook = Callable[[list[InferenceRequest]], Any]

_execution_numbers = itertools.count(1)
number_execution = functools.partial(next, _execution_numbers)
"""Returns the number of the next execution."""
_ZERO_COPY = "BLSNB_ZERO_COPY"
_TRUE = ("1", "true", "yes", "on")


class Executor:
    """Runs the instances of one model version.

    It is also the scheduler of models without a batcher, which execute each request
    alone, in order of arrival.

    Parameters
    ----------
    config
        Normalised and completed.
    pool
        The instances.
    placement
        Moves the inputs; None without a device.
    """

    def __init__(
        self,
        config: ModelConfig,
        pool: InstancePool,
        placement: Placement | None = None,
    ) -> None:
        self._pool = pool
        self._placement = placement
        self._outputs = tuple(spec.name for spec in config.outputs)
        self._batching = config.max_batch_size > 0
        self._iterative = config.iterative
        self._order = InputOrder()
        reshapes = Reshapes(config)
        self.reshapes = reshapes if reshapes.any else None
        """Converts shapes; None if no tensor has a ``reshape``."""
        self._zero_copy = config.parameters.get(_ZERO_COPY, "").lower() in _TRUE

    def run(self, inflight: Inflight, blocks_execute: bool) -> ModelInstance:
        """Execute a request as soon as an instance is free; see `Scheduler.run`."""
        __tracebackhide__ = True
        try:
            instance = self._pool.take(inflight, blocks_execute)
        except Deadlock as deadlock:
            hang.end_deadlocked(self._pool, inflight, deadlock.lines)
        self.execute(instance, [inflight])
        return instance

    @property
    def waiting_count(self) -> int:
        """Number of requests that wait for an instance."""
        return self._pool.waiting_count

    def resized(self) -> None:
        """Do nothing: the pool assigns new instances itself."""

    def retire(self) -> None:
        """Finalize the instances when no request needs one of them."""
        self._pool.retire()

    def execute(
        self,
        instance: ModelInstance,
        inflights: list[Inflight],
        root: RootRequest | None = None,
        number: int = 0,
        on_executed: Callable[[], None] | None = None,
    ) -> None:
        """Run ``execute`` for a batch, and release the instance.

        Parameters
        ----------
        root
            Lifetime of this execution if it serves several client requests; else that
            of the only one.
        number
            Of the execution; a new one if 0.
        on_executed
            Called after it, while the instance is still busy.

        Raises
        ------
        Unwind
            All its client requests have ended.
        """
        __tracebackhide__ = True
        execution = Execution(instance, inflights, number or number_execution(), root)
        instance.execution = execution
        requests = self._begin(instance, execution)
        try:
            self._run_hook(instance, execution, requests)
        except Abandoned as left:
            execution.hook_thread_id = execution.thread_id
            left.then(lambda: self._leave(instance, execution))
            raise Unwind from None
        except BaseException:
            self._leave(instance, execution)
            raise
        end = CLOCK.now_ns()
        is_open = False
        for inflight in inflights:
            inflight.numbers[COMPUTE_END] = end
            inflight.execution = None
            is_open = is_open or not inflight.final
        if is_open:
            for inflight, request in zip(inflights, requests, strict=True):
                inflight.held = weakref.ref(request)
            self._pool.last_requests.expect_answers(inflights)
        instance.execution = None
        if on_executed is not None:
            on_executed()
        self._pool.release(instance)

    def _begin(
        self, instance: ModelInstance, execution: Execution
    ) -> list[InferenceRequest]:
        """Create the request objects of the model, and record the execution."""
        inflights = execution.inflights
        start = CLOCK.now_ns()
        requests: list[InferenceRequest] = []
        leader = None
        total = count = 0
        for inflight in inflights:
            size = 1
            if self._batching and inflight.message.inputs:
                size = inflight.message.inputs[0].shape[0]
            total += size
            if not inflight.filler:
                leader = leader or inflight
                count += 1
            inflight.execution = execution
            inflight.batch_size, inflight.execution_size = size, 0
            inflight.requested = inflight.requested or self._outputs
            inflight.call.instance = instance.name
            inflight.numbers[EXECUTION] = execution.number
            inflight.numbers[COMPUTE_START] = start
            requests.append(self._receive(instance, inflight))
        assert leader is not None
        leader.execution_size = total
        ready = CLOCK.now_ns()
        for inflight in inflights:
            inflight.numbers[COMPUTE_INPUT_END] = ready
            inflight.call.batch = count
        return requests

    def _receive(self, instance: ModelInstance, inflight: Inflight) -> InferenceRequest:
        message = inflight.message
        inputs = message.inputs
        if self.reshapes is not None:
            inputs = self.reshapes.to_model(inputs)
        if inflight.extra or len(inputs) > 1:
            inputs = self._order.of(inputs, inflight.extra)
        if self._placement is not None:
            inputs = self._placement.inputs(inflight.call, inputs)
        return receive_request(
            instance.request_class,
            message,
            inputs,
            inflight.requested,
            inflight,
            self._zero_copy,
        )

    def _run_hook(
        self,
        instance: ModelInstance,
        execution: Execution,
        requests: list[InferenceRequest],
    ) -> None:
        __tracebackhide__ = True
        inflights = execution.inflights
        if self._batching and fail_without_inputs(inflights):
            _computed(inflights)
            return
        try:
            results = _execute(instance, execution, requests)
        except ExecuteFailed as failure:
            _computed(inflights)
            execution.note_unchecked_errors()
            text = failed(instance.name, failure.text)
            fail_all(inflights, text, failure.cause, failure.code)
            if self._placement is not None:
                self._placement.explain(inflights)
            return
        self._take(results, instance, execution, requests)
        if execution.watched is not None:
            # Only now: a model that returns an error has checked it.
            execution.note_unchecked_errors()

    def _take(
        self,
        results: Any,
        instance: ModelInstance,
        execution: Execution,
        requests: list[InferenceRequest],
    ) -> None:
        """Send the responses that ``execute`` returned."""
        inflights = execution.inflights
        if execution.root.ended is not None:
            _computed(inflights)
            raise Unwind
        now = CLOCK.now_ns()
        released = True
        for place, inflight in enumerate(inflights):
            inflight.numbers[COMPUTE_OUTPUT_START] = now
            inflight.release_flags = flags = release_flags(requests[place])
            released = released and flags == RELEASE_ALL
        try:
            take_results(results, inflights, instance.name)
        except BaseException as error:
            # The value may be of the model's own classes.
            if isinstance(error, Unwind) or execution.root.ended_by(error):
                raise Unwind from error
            text = failed(instance.name, describe(error, _TAKE_BOUNDARY))
            fail_all(inflights, text, error)
        if not (released or self._iterative):
            self._drop(instance, execution)

    def _drop(self, instance: ModelInstance, execution: Execution) -> None:
        """Refuse to reschedule requests: the model is not configured for it."""
        for inflight in execution.inflights:
            if inflight.is_rescheduled:
                inflight.drop(hang.RESCHEDULED)
                instance.backend.log("ERROR", hang.not_released(inflight))

    def _leave(self, instance: ModelInstance, execution: Execution) -> None:
        execution.hook_thread_id = 0
        instance.execution = None
        for inflight in execution.inflights:
            inflight.execution = None
        self._pool.release(instance)


_TAKE_BOUNDARY = Executor._take.__code__


def _computed(inflights: list[Inflight]) -> None:
    now = CLOCK.now_ns()
    for inflight in inflights:
        inflight.numbers[COMPUTE_OUTPUT_START] = now


class ExecuteFailed(Exception):
    """``execute`` raised; the text is Triton's, without its prefix."""

    def __init__(
        self, text: str, cause: BaseException | None = None, code: str = "INTERNAL"
    ) -> None:
        super().__init__(text)
        self.text = text
        self.cause = cause
        self.code = code


def _execute(
    instance: ModelInstance, execution: Execution, requests: list[InferenceRequest]
) -> Any:
    """Call ``execute`` and return what it returns; a coroutine is awaited.

    Raises
    ------
    ExecuteFailed
        The model raises, or has no ``execute``.
    Unwind, Abandoned
        The request has ended.
    """
    __tracebackhide__ = True
    hook = instance.found(instance.model, "execute")
    if hook is None:
        instance.notes.deliver(execution)
        raise ExecuteFailed(
            f"Python model {instance.model_file} does not implement `execute` method."
        )
    if instance.threads.inline:
        # As in `without_loop`, which would be one more call for each request.
        if asyncio._get_running_loop() is None:
            return _on_thread(instance, execution, hook, requests)
        return without_loop(_on_thread, instance, execution, hook, requests)
    return instance.threads.call(
        execution.root, lambda: _on_thread(instance, execution, hook, requests)
    )


def _on_thread(
    instance: ModelInstance,
    execution: Execution,
    hook: Hook,
    requests: list[InferenceRequest],
) -> Any:
    """Call ``execute`` on this thread; turn what it raises into Triton's text."""
    __tracebackhide__ = True
    root, notes = execution.root, instance.notes
    # With BLSNB_THREAD=instance it is not the caller's thread.
    execution.thread_id = execution.hook_thread_id = threading.get_ident()
    if execution.thread_id != notes.thread_id and not notes.thread_noted:
        notes.note_bound(execution, hook, instance.model, instance.module)
    if notes.queued:
        notes.deliver(execution)
    if root.ended is not None:
        raise Unwind
    if instance.around is not None:
        hook = functools.partial(instance.around, execution, hook)
    try:
        try:
            return _call_hook(instance, execution, hook, requests)
        finally:
            # From here on no other thread raises an exception in this one.
            execution.hook_thread_id = 0
            if execution.is_interrupted:
                async_exception.clear()
    except Unwind as error:
        root.ended_by(error)
        raise
    except Abandoned:
        # Its coroutine continues on the event loop's thread.
        execution.hook_thread_id = execution.thread_id
        raise
    except OutOfResourcesError as error:
        raise ExecuteFailed(error.message, error, error.code) from error
    except BaseException as error:
        if root.ended_by(error):
            raise Unwind from error
        notes.note_thread(execution, error, instance.threads.loop.thread_id)
        text = describe(error, _call_hook.__code__)
        raise ExecuteFailed(text, error) from error


@boundary
def _call_hook(
    instance: ModelInstance,
    execution: Execution,
    hook: Hook,
    requests: list[InferenceRequest],
) -> Any:
    __tracebackhide__ = True
    result = hook(requests)
    if type(result) is list or not asyncio.iscoroutine(result):
        return result
    return run_coroutine(instance, execution, result)
