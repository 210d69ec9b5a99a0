"""EnsembleRequest: one request of an ensemble, as the requests of its steps."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Protocol

from blsnb.engine.request.inflight import Caller, Inflight
from blsnb.engine.request.streaming import FinalFlag, Readable
from blsnb.engine.request.validation import RequestError
from blsnb.engine.scheduling.ensembles.calls import (
    EnsembleError,
    Held,
    Passed,
    Progress,
    StepCall,
)
from blsnb.engine.scheduling.ensembles.run import EnsembleRun
from blsnb.engine.scheduling.ensembles.step_driver import Move
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.request_fields import SEQUENCE_END, SEQUENCE_START
from blsnb.tensors.ref import TensorRef


class Steps:
    """Which steps of an ensemble's request run, and how long those took that did."""

    def __init__(self) -> None:
        self.begun_ns = time.monotonic_ns()
        self.active: set[Inflight] = set()
        self.phases = (0, 0, 0)
        """Nanoseconds of input, execution and output, of all steps together."""

    def begin(self, step: Inflight) -> None:
        """Note that a step is on its way."""
        self.active.add(step)

    def end(self, step: Inflight) -> None:
        """Note that a step is done, and what it took."""
        self.active.discard(step)
        call = step.call
        if not call.compute_end_ns:
            return
        marks = (
            call.compute_start_ns,
            call.compute_input_end_ns,
            call.compute_output_start_ns,
            call.compute_end_ns,
        )
        self.phases = tuple(  # type: ignore[assignment]
            phase + later - earlier
            for phase, earlier, later in zip(
                self.phases, marks, marks[1:], strict=False
            )
        )


Call = StepCall[TensorRef]


class StepRouter(Protocol):
    """What an ensemble needs to ask other models."""

    def route(self, message: RequestMessage, caller: Caller) -> ResponseMessage:
        """Run a request on the model that it names."""

    def route_many(self, message: RequestMessage, caller: Caller) -> Readable:
        """Start a request that may have any number of responses."""

    def check(self, message: RequestMessage) -> bool:
        """Refuse what its model would refuse; return whether that is decoupled."""


class EnsembleRequest:
    """Asks the models of the steps on behalf of one request."""

    def __init__(self, router: StepRouter, inflight: Inflight, steps: Steps) -> None:
        self._router = router
        self._inflight = inflight
        self._steps = steps

    def refuse(self, call: Call) -> EnsembleError | None:
        """Return why the model of a step would not take a call."""
        try:
            self._router.check(self._message(call))
        except RequestError as error:
            return EnsembleError(error.message, error.code)
        return None

    def ask(self, run: EnsembleRun[TensorRef], call: Call) -> Iterator[Move]:
        """Make the request of a step; yield what is to be done with each response."""
        message = self._message(call)
        try:
            for response in self._responses(message):
                yield partial(_take, run, call, response)
        except RequestError as error:
            refused = EnsembleError(error.message, error.code)
            yield lambda: run.take(call, error=refused)

    def _responses(self, message: RequestMessage) -> Iterator[ResponseMessage]:
        inflight = self._inflight
        caller = Caller(inflight.root, inflight, None, 0, is_client=True)
        caller.steps = self._steps
        if not self._router.check(message):
            yield self._router.route(message, caller)
            return
        responses = self._router.route_many(message, caller)
        number = 0
        while (response := responses.get(number)) is not None:
            yield response
            number += 1

    def _message(self, call: Call) -> RequestMessage:
        asked = self._inflight.message
        sequence = call.sequence
        return RequestMessage(
            call.step.model,
            tuple(map(alias, call.inputs)),
            tuple(call.step.outputs),
            asked.fields._replace(
                version=call.step.version,
                correlation_id=sequence.correlation_id,
                flags=SEQUENCE_START * sequence.start | SEQUENCE_END * sequence.end,
            ),
        )


def alias(passed: Passed[TensorRef]) -> TensorRef:
    """Return a tensor by another name, in another shape."""
    return passed.value.alias(passed.name, passed.shape)


def _take(
    run: EnsembleRun[TensorRef], call: Call, response: ResponseMessage
) -> Progress[TensorRef]:
    """Let a run take a response of a step."""
    if response.error is not None:
        error = EnsembleError(response.error, response.code)
        return run.take(call, error=error, final=response.final)
    if isinstance(response, FinalFlag):
        return run.take(call, None, final=True)
    outputs = {ref.name: Held(ref, ref.shape) for ref in response.outputs}
    return run.take(call, outputs, final=response.final)
