"""The requests of the steps of one ensemble request."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Protocol

from blsnb.clock.pausing_clock import CLOCK
from blsnb.engine.request.inflight import Caller, Inflight
from blsnb.engine.request.streaming import FinalFlag, Readable
from blsnb.engine.request.validation import RequestError
from blsnb.engine.scheduling.ensembles.calls import (
    EnsembleError,
    EnsembleProgress,
    Held,
    Passed,
    Sequence,
    StepCall,
)
from blsnb.engine.scheduling.ensembles.run import EnsembleRun
from blsnb.engine.scheduling.ensembles.step_driver import Move
from blsnb.pb_utils.message import RequestMessage, ResponseMessage
from blsnb.request_fields import SEQUENCE_END, SEQUENCE_START, Parameters
from blsnb.tensors.ref import TensorRef


class StepRequests:
    """Running steps of an ensemble request, and the times of those that ended."""

    def __init__(self) -> None:
        self.begun_ns = CLOCK.now_ns()
        self.active: set[Inflight] = set()
        self.phases = (0, 0, 0)
        """Total nanoseconds of input, execution and output of all steps."""

    def begin(self, step: Inflight) -> None:
        """Note that a step has started."""
        self.active.add(step)

    def end(self, step: Inflight) -> None:
        """Note that a step has ended, and add its times."""
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
_FLAGS = {"sequence_start": SEQUENCE_START, "sequence_end": SEQUENCE_END}


class StepRouter(Protocol):
    """Routing of requests to other models."""

    def route(self, message: RequestMessage, caller: Caller) -> ResponseMessage:
        """Run a request on its model."""

    def route_many(self, message: RequestMessage, caller: Caller) -> Readable:
        """Start a request to a decoupled model."""

    def check(self, message: RequestMessage) -> bool:
        """Validate a request; return whether its model is decoupled."""


class EnsembleRequest:
    """Sends requests to the models of the steps on behalf of one request."""

    def __init__(
        self, router: StepRouter, inflight: Inflight, steps: StepRequests
    ) -> None:
        self._router = router
        self._inflight = inflight
        self._steps = steps

    def refuse(self, call: Call) -> EnsembleError | None:
        """Return the error with which a step's model would refuse a call."""
        try:
            self._router.check(self._message(call))
        except RequestError as error:
            return EnsembleError(error.message, error.code)
        return None

    def execute(self, run: EnsembleRun[TensorRef], call: Call) -> Iterator[Move]:
        """Send the request of a step; yield a move of the run for each response."""
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
            yield from _with_failure(self._router.route(message, caller))
            return
        responses = self._router.route_many(message, caller)
        number = 0
        while (response := responses.get(number)) is not None:
            yield response
            number += 1

    def _message(self, call: Call) -> RequestMessage:
        request = self._inflight.message
        return RequestMessage(
            call.step.model,
            tuple(map(alias, call.inputs)),
            tuple(call.step.outputs),
            request.fields._replace(
                version=call.step.version,
                correlation_id=call.sequence.correlation_id,
                flags=call.sequence.flags,
            ),
        )


def _with_failure(response: ResponseMessage) -> Iterator[ResponseMessage]:
    """Yield a response, and the failure that follows it, if any.

    The steps behind it run before the failure; on Triton they race.
    """
    if response.error is None and (failure := response.followed):
        response.final, response.followed = False, ""
        yield response
        response = ResponseMessage(error=failure)
    yield response


def alias(passed: Passed[TensorRef]) -> TensorRef:
    """Return a tensor under another name and in another shape."""
    return passed.value.alias(passed.name, passed.shape)


def _take(
    run: EnsembleRun[TensorRef], call: Call, response: ResponseMessage
) -> EnsembleProgress[TensorRef]:
    final = response.final
    if response.error is not None:
        error = EnsembleError(response.error, response.code)
        return run.take(call, error=error, final=final)
    if isinstance(response, FinalFlag):
        return run.take(call, None, final=True)
    try:
        sequence = _sequence(call, response.parameters)
    except RequestError as refused:
        error = EnsembleError(refused.message, refused.code)
        return run.take(call, error=error, final=final)
    outputs = {ref.name: Held(ref, ref.shape) for ref in response.outputs}
    return run.take(call, outputs, final=final, sequence=sequence)


def _sequence(call: Call, parameters: Parameters) -> Sequence | None:
    """Return the sequence that a response names in its parameters, if any.

    References
    ----------
    core: src/ensemble_scheduler/ensemble_scheduler.cc, ConsumeResponse
    """
    found = None
    for name, value in parameters.items():
        if name == "sequence_id":
            if isinstance(value, bool | float):
                raise RequestError(
                    "expected parameter 'sequence_id' to be TRITONSERVER_PARAMETER_INT "
                    "or TRITONSERVER_PARAMETER_STRING"
                )
            number = value if isinstance(value, str) else value % 2**64
            found = Sequence(number, found.flags if found else 0)
        elif name in _FLAGS:
            if not isinstance(value, bool):
                raise RequestError(
                    f"expect parameter '{name}' to be TRITONSERVER_PARAMETER_BOOL"
                )
            found = found or Sequence(call.sequence.correlation_id)
            found = found._replace(flags=found.flags | _FLAGS[name] * value)
    return found
