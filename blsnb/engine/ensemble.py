"""One version of an ensemble, which runs the steps of its requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from blsnb.clock.pausing_clock import CLOCK
from blsnb.engine.instance.inputs import Reshapes
from blsnb.engine.instance.placement import Placement
from blsnb.engine.request import hang_report as hang
from blsnb.engine.request.inflight import Inflight
from blsnb.engine.request.lifetime import Unwind
from blsnb.engine.request.streaming import StreamInflight
from blsnb.engine.response_cache import ResponseCache
from blsnb.engine.scheduling.ensembles.calls import (
    EnsembleProgress,
    EnsembleResponse,
    Held,
    Sequence,
)
from blsnb.engine.scheduling.ensembles.plan import EnsemblePlan
from blsnb.engine.scheduling.ensembles.run import EnsembleRun
from blsnb.engine.scheduling.ensembles.step_driver import StepDriver
from blsnb.engine.scheduling.ensembles.step_requests import (
    EnsembleRequest,
    StepRequests,
    StepRouter,
    alias,
)
from blsnb.engine.served import Served
from blsnb.engine.threads.workers import Workers
from blsnb.model.config import ModelConfig
from blsnb.pb_utils.message import ResponseMessage
from blsnb.tensors.ref import TensorRef
from blsnb.trace.events import ModelInfo


class ServedEnsemble(Served):
    """One version of an ensemble in service.

    Parameters
    ----------
    config
        With ``decoupled`` computed.
    plan
        Its steps and the tensors between them.
    router
        Runs the requests of the steps.
    workers
        Run steps concurrently.
    waits_with_errors
        Whether an error is returned only when no step is running.
    placement
        Moves its outputs; None without a device.

    References
    ----------
    core: src/ensemble_scheduler/ensemble_scheduler.cc
    """

    def __init__(
        self,
        config: ModelConfig,
        info: ModelInfo,
        plan: EnsemblePlan,
        router: StepRouter,
        workers: Workers,
        waits_with_errors: bool,
        cache: ResponseCache | None = None,
        placement: Placement | None = None,
    ) -> None:
        super().__init__(config, info, cache)
        self.placement = placement
        self._plan = plan
        self._router = router
        self._workers = workers
        self._waits_with_errors = waits_with_errors
        self._reshapes = Reshapes(config)
        self._batching = config.max_batch_size > 0
        self._outputs = tuple(spec.name for spec in config.outputs)

    def run(self, inflight: Inflight, blocks_execute: bool) -> ResponseMessage:
        """Run a request until its final response."""
        __tracebackhide__ = True
        answered: list[ResponseMessage] = []

        def answer(progress: EnsembleProgress[TensorRef]) -> None:
            answered.extend(self._messages(progress))

        self._drive(inflight, answer)
        response, *failures = answered or [ResponseMessage()]
        if failures:
            response.final, response.followed = False, failures[0].error or ""
        if self.placement is not None:
            self.placement.outputs(inflight, response)
        inflight.failed = response.error is not None or bool(failures)
        self.ended(inflight)
        return response

    def stream(self, inflight: StreamInflight, blocks_execute: bool) -> None:
        """Run a decoupled request, which sends its responses itself."""
        inflight.placement = self.placement

        def answer(progress: EnsembleProgress[TensorRef]) -> None:
            inflight.failed = inflight.failed or progress.error is not None
            for response in self._messages(progress):
                inflight.send(response, progress.final)
            if progress.final:
                inflight.send(None, True)

        try:
            self._drive(inflight, answer)
        except Unwind:
            return
        inflight.over()

    def _drive(
        self, inflight: Inflight, answer: Callable[[EnsembleProgress[TensorRef]], None]
    ) -> None:
        """Run all steps, and pass each response to a function."""
        __tracebackhide__ = True
        inflight.call.queue_start_ns = CLOCK.now_ns()
        if endless := self._plan.endless:
            again = ((step.model, step.index) for step in endless)
            inflight.root.end(hang.endless(self.info.name, again))
            raise Unwind
        inflight.steps = steps = StepRequests()
        request = EnsembleRequest(self._router, inflight, steps)
        run = self._begun(inflight, request)
        StepDriver(run, request.execute, answer, inflight.root, self._workers).drive()

    def _messages(
        self, progress: EnsembleProgress[TensorRef]
    ) -> Iterator[ResponseMessage]:
        if progress.error is not None:
            message, code = progress.error
            yield ResponseMessage(error=message, code=code)
        if progress.response is not None:
            yield self._response(progress.response)

    def _response(self, response: EnsembleResponse[TensorRef]) -> ResponseMessage:
        outputs = self._reshapes.to_client(tuple(map(alias, response.outputs)))
        return ResponseMessage(outputs, parameters=dict(response.parameters))

    def _begun(
        self, inflight: Inflight, request: EnsembleRequest
    ) -> EnsembleRun[TensorRef]:
        """Return the initial state of a request."""
        message = inflight.message
        inputs = self._reshapes.to_model(message.inputs)
        # Without an input the request has no batch size.
        has_batch = self._batching and inputs
        if has_batch:
            inflight.batch_size = inputs[0].shape[0]
        return EnsembleRun(
            self._plan,
            {ref.name: Held(ref, ref.shape) for ref in inputs},
            message.requested_outputs or self._outputs,
            batch_size=inflight.batch_size if has_batch else 0,
            prefix=message.fields.prefix,
            sequence=Sequence(message.fields.correlation_id, message.fields.flags),
            refuse=request.refuse,
            waits_with_errors=self._waits_with_errors,
        )

    def ended(self, inflight: Inflight) -> None:
        """Count a request whose final response was sent."""
        inflight.call.request_end_ns = CLOCK.now_ns()
        steps = inflight.steps
        if isinstance(steps, StepRequests):
            self.statistics.add_ensemble(
                inflight.call,
                inflight.batch_size,
                inflight.failed,
                steps.begun_ns,
                steps.phases,
            )

    def was_rejected(self, inflight: Inflight) -> bool:
        """Whether the response is an error, which is not cached."""
        return inflight.failed

    def retire(self) -> None:
        """Do nothing: the models of its steps are unloaded on their own."""
