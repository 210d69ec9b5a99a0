"""One version of a model with instances."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence

from blsnb.clock.pausing_clock import CLOCK
from blsnb.engine.instance.executor import Executor
from blsnb.engine.instance.instance import HookFailed, ModelInstance
from blsnb.engine.instance.placement import Placement
from blsnb.engine.instance.pool import InstancePool
from blsnb.engine.instance.results import OutputNotes, failed
from blsnb.engine.request import hang_report as hang
from blsnb.engine.request.inflight import Execution, Inflight
from blsnb.engine.request.lifetime import RootRequest, Unwind
from blsnb.engine.request.streaming import StreamInflight
from blsnb.engine.response_cache import ResponseCache
from blsnb.engine.scheduling.scheduler import Rejected
from blsnb.engine.scheduling.scheduler_choice import Schedulers
from blsnb.engine.served import Served
from blsnb.model.config import ModelConfig
from blsnb.model.instance_changes import with_instances_of
from blsnb.pb_utils.message import ResponseMessage
from blsnb.trace.events import ModelInfo
from blsnb.trace.lazy.call_fields import COMPUTE_START, QUEUE_START, REQUEST_END

_COLLECT_AFTER_S = 0.2


class ServedVersion(Served):
    """One version of a model that has instances.

    Parameters
    ----------
    config
        Normalised and completed.
    info
        Its description in the trace.
    pool
        Its instances.
    schedulers
        Create the scheduler that the configuration needs.
    cache
        The server's response cache; None if it has none.
    placement
        Moves inputs and outputs; None without a device.
    """

    def __init__(
        self,
        config: ModelConfig,
        info: ModelInfo,
        pool: InstancePool,
        schedulers: Schedulers,
        cache: ResponseCache | None = None,
        placement: Placement | None = None,
    ) -> None:
        super().__init__(config, info, cache)
        self.pool = pool
        self.placement = placement
        self._executor = Executor(config, pool, placement)
        self._scheduler = schedulers.make(config, pool, self._executor, self.statistics)
        self._output_notes = OutputNotes(config)
        self._look_at_instances()

    def _look_at_instances(self) -> None:
        hooks = (instance.ready_hook for instance in self.pool.instances)
        self.has_ready_hook = any(hook is not None for hook in hooks)

    def change_instances(
        self, config: ModelConfig, kept: Sequence[int], added: Sequence[ModelInstance]
    ) -> None:
        """Remove instances and add others; the rest of the version is unchanged.

        Parameters
        ----------
        config
            Has the new instance groups.
        kept
            Numbers of the instances that stay, in their new order.
        added
            New instances, which follow them.
        """
        self.config = with_instances_of(self.config, config)
        self.pool.change(kept, added)
        self._scheduler.resized()
        self._look_at_instances()

    def not_ready_reason(self) -> str:
        """Return why an instance is not ready; empty if all are."""
        reasons = (instance.not_ready_reason() for instance in self.pool.instances)
        return next((reason for reason in reasons if reason), "")

    @property
    def findings(self) -> tuple[str, ...]:
        """Return warnings about the code of its instances."""
        found = (each for one in self.pool.instances for each in one.notes.findings)
        return tuple(dict.fromkeys(found))

    @property
    def waiting_count(self) -> int:
        """Number of requests that wait for execution."""
        return self._scheduler.waiting_count

    @property
    def instance_counts(self) -> tuple[int, int]:
        """Numbers of busy instances and of all."""
        count = len(self.pool.instances)
        return max(0, count - self.pool.idle_count), count

    def run(self, inflight: Inflight, blocks_execute: bool) -> ResponseMessage:
        """Run a request until its final response."""
        __tracebackhide__ = True
        inflight.numbers[QUEUE_START] = CLOCK.now_ns()
        try:
            instance = self._scheduler.run(inflight, blocks_execute)
            if not inflight.final or inflight.held is not None:
                self._wait_for_sender(inflight, instance.execute_place)
            if inflight.turn is not None:
                inflight.turn.wait(inflight.root)
            return self._answered(inflight)
        except Rejected as rejected:
            return self._reject(inflight, rejected.response)
        except HookFailed as failure:
            # A new instance should have replaced an abandoned one.
            return self._refuse(inflight, failure)
        finally:
            if inflight.turn is not None:
                inflight.turn.end()

    def _answered(self, inflight: Inflight) -> ResponseMessage:
        """Return the response of a completed request, and count it."""
        response = inflight.response
        assert response is not None
        if self.placement is not None:
            self.placement.leave(inflight, response)
        self.ended(inflight)
        if response.error is None:
            for note in self._output_notes.of(response, inflight.requested):
                inflight.note(note)
        reshapes = self._executor.reshapes
        if reshapes is not None:
            response.outputs = reshapes.to_client(response.outputs)
        return response

    def stream(self, inflight: StreamInflight, blocks_execute: bool) -> None:
        """Run ``execute`` for a decoupled request, which sends its responses itself."""
        inflight.call.queue_start_ns = CLOCK.now_ns()
        inflight.placement = self.placement
        try:
            instance = self._scheduler.run(inflight, blocks_execute)
        except Rejected as rejected:
            inflight.abandon(self._reject(inflight, rejected.response))
        except HookFailed as failure:
            inflight.abandon(self._refuse(inflight, failure))
        except Unwind:
            return
        else:
            inflight.executed(instance.execute_place)

    def execute_on(self, instance: ModelInstance, inflights: list[Inflight]) -> None:
        """Execute requests on a free instance, without the scheduler.

        Raises
        ------
        Unwind
            The client request has ended.
        """
        __tracebackhide__ = True
        self.pool.claim(self.pool.instances.index(instance))
        self._executor.execute(instance, inflights)

    def wait_for_all(
        self, inflight: Inflight, instance: ModelInstance
    ) -> list[ResponseMessage]:
        """Return all responses to a request of `execute_on`, and count it.

        Raises
        ------
        Unwind
            The request has ended, possibly because nothing can answer it.
        """
        responses: list[ResponseMessage] = []
        if isinstance(inflight, StreamInflight):
            inflight.executed(instance.execute_place)
            while (response := inflight.get(len(responses))) is not None:
                responses.append(response)
        else:
            if not inflight.final:
                self._wait_for_sender(inflight, instance.execute_place)
            responses += [inflight.response] if inflight.response else []
            if responses and (text := responses[0].followed):
                responses.append(ResponseMessage(error=text))
        self.ended(inflight)
        return responses

    def ended(self, inflight: Inflight) -> None:
        """Count a completed request."""
        numbers = inflight.numbers
        numbers[REQUEST_END] = CLOCK.now_ns()
        if numbers[COMPUTE_START]:
            size, execution = inflight.batch_size, inflight.execution_size
            self.statistics.add(numbers, size, inflight.failed, execution)
        if inflight.decoupled:
            self.pool.last_requests.note_answered(inflight)

    def _reject(self, inflight: Inflight, response: ResponseMessage) -> ResponseMessage:
        """Count a request that the scheduler rejected."""
        inflight.call.request_end_ns = CLOCK.now_ns()
        cancelled = response.code == "CANCELLED"
        self.statistics.reject(inflight.call, "CANCELED" if cancelled else "REJECTED")
        return response

    def _refuse(self, inflight: Inflight, failure: HookFailed) -> ResponseMessage:
        inflight.call.request_end_ns = CLOCK.now_ns()
        text = failed(self.info.name, failure.text)
        return ResponseMessage(error=text, cause=failure.cause)

    def _wait_for_sender(self, inflight: Inflight, where: str) -> None:
        """Wait for a response that the model sends after ``execute``."""
        waiter = inflight.expect_later()
        held = inflight.held and inflight.held()
        watch = None
        if held is not None:
            watch = weakref.ref(held, lambda _: self._dropped(inflight, where))
            del held
        else:
            self._dropped(inflight, where)
        if not waiter.wait(_COLLECT_AFTER_S):
            # A request in a reference cycle has no owner.
            gc.collect()
        inflight.root.wait(waiter, lambda s: hang.notice(inflight, s))
        self.pool.last_requests.note_answered(inflight)
        del watch

    def _dropped(self, inflight: Inflight, where: str) -> None:
        """End a request that nothing can answer, since nothing holds it."""
        if not inflight.final:
            inflight.root.end(hang.unanswered(inflight, where))
            inflight.wake()

    def was_rejected(self, inflight: Inflight) -> bool:
        """Whether the request was never executed."""
        return not inflight.call.compute_start_ns

    @property
    def is_running(self) -> bool:
        """Whether an instance is not finalized yet."""
        return any(instance.model is not None for instance in self.pool.present)

    def replace_abandoned(self, root: RootRequest) -> list[Execution]:
        """Replace the instances that are busy with an ended request; return these."""
        return self.pool.replace_abandoned(root)

    def retire(self) -> None:
        """Finalize the instances when no request needs one of them."""
        self._scheduler.retire()
