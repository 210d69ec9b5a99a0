"""Read the results of ``execute`` by Triton's rules, and note unexpected outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blsnb.engine.request.failure import notes_of
from blsnb.engine.request.inflight import Inflight
from blsnb.engine.request.validation import REMEMBERED, fits
from blsnb.model.config import ModelConfig
from blsnb.pb_utils import response as responses
from blsnb.pb_utils.logger import server_event
from blsnb.pb_utils.message import ResponseMessage
from blsnb.pb_utils.request import RELEASE_ALL, RESCHEDULE
from blsnb.pb_utils.response import InferenceResponse
from blsnb.tensors.ref import TensorRef

_NO_BATCH_SIZE = (
    "Without any input the batch size is not known: give one of the optional inputs, "
    "or set max_batch_size to zero."
)

_ONE_ONLY = (
    "Unable to send response. Non-decoupled model cannot send more than one response."
)
_FOLLOWED = (
    "A response was sent without the final flag before this: {} The caller receives "
    "the response if it is a model or reads a stream, else the error 'expected a "
    "single response, got 2'. Send the response with TRITONSERVER_RESPONSE_COMPLETE_"
    "FINAL, and only when nothing can fail any more."
)
_LATE = (
    "After the final flag: {} The caller has the response, and on Triton 24.10 the "
    "server may end. Send the final flag only when nothing can fail any more."
)


def failed(instance_name: str, text: str) -> str:
    """Return an error text with the prefix of a failed ``execute``."""
    return (
        f"Failed to process the request(s) for model '{instance_name}', message: {text}"
    )


def fail_all(
    inflights: list[Inflight],
    text: str,
    cause: BaseException | None = None,
    code: str = "INTERNAL",
) -> None:
    """Send an error to every request without a response.

    Responses that were sent remain. After one without the final flag the error is a
    second response; after the final flag Triton only logs it.
    """
    server_event("E", "%s", text)
    for inflight in inflights:
        inflight.release_flags = RELEASE_ALL
        for note in notes_of(cause):
            inflight.note(note)
        inflight.failed = inflight.decoupled or not inflight.final
        if inflight.final:
            inflight.note(_LATE.format(text))
            continue
        if inflight.response is not None and not inflight.decoupled:
            inflight.response.followed = text
            inflight.note(_FOLLOWED.format(text))
            inflight.finish()
            continue
        inflight.finish(ResponseMessage(error=text, code=code, cause=cause))


def fail_without_inputs(inflights: list[Inflight]) -> bool:
    """Fail all requests of a batch if one of them has no inputs.

    All inputs may be optional, but the backend reads the batch size from the first one.

    References
    ----------
    python_backend: src/python_be.cc, ModelInstanceState::CheckIncomingRequests
    """
    for inflight in inflights:
        if inflight.message.inputs or inflight.extra:
            continue
        prefix = inflight.message.fields.prefix
        text = f"{prefix}out of bounds index 0: request has 0 inputs"
        for each in inflights:
            # Triton counts no execution.
            each.execution_size = 0
            each.note(_NO_BATCH_SIZE)
        fail_all(inflights, text, code="INVALID_ARG")
        return True
    return False


def take_results(results: Any, inflights: list[Inflight], instance_name: str) -> None:
    """Send the responses that ``execute`` returned.

    A request whose element is None stays open for its response sender; if None was
    returned, all requests do.

    References
    ----------
    python_backend: src/pb_stub.cc, Stub::ProcessReturnedResponses
    """
    if inflights[0].decoupled:
        if results is not None:
            problem = (
                f"Python model '{instance_name}' is using the decoupled mode and the "
                "execute function must return None."
            )
            fail_all(inflights, failed(instance_name, problem))
        return
    if results is None:
        return
    if problem := _problem(results, inflights):
        fail_all(inflights, failed(instance_name, problem))
        return
    for place, inflight in enumerate(inflights):
        result = results[place]
        if result is None or inflight.final:
            continue
        inflight.release_flags = RELEASE_ALL
        if inflight.response is not None:
            fail_all([inflight], failed(instance_name, _ONE_ONLY))
            continue
        inflight.finish(responses.send(result, inflight.requested))


def _problem(results: Any, inflights: list[Inflight]) -> str:
    if not isinstance(results, list):
        return f"Expected a list in the execute return, found type '{type(results)}'."
    if len(results) != len(inflights):
        return (
            "Number of InferenceResponse objects do not match the number of "
            f"InferenceRequest objects. InferenceRequest(s) size is:{len(inflights)}, "
            f"and InferenceResponse(s) size is:{len(results)}\n"
        )
    for result, inflight in zip(results, inflights, strict=True):
        if result is None:
            continue
        if inflight.release_flags == RESCHEDULE:
            # Misspelled as on Triton.
            return (
                "Expected a None object in the execute function return list for "
                f"reschduled request, found type '{type(result)}'."
            )
        if not isinstance(result, InferenceResponse):
            return (
                "Expected an 'InferenceResponse' object in the execute function "
                f"return list, found type '{type(result)}'."
            )
    return ""


class OutputNotes:
    """Compares responses with a configuration, which Triton does not do.

    Valid responses are cached by their signature, so that equal ones are checked once.

    References
    ----------
    core: src/infer_response.cc; no check of names, types or shapes is made there
    """

    def __init__(self, config: ModelConfig) -> None:
        self._model = config.name
        batch = (-1,) if config.max_batch_size > 0 else ()
        self._specs = {
            spec.name: (spec.datatype, batch + tuple(spec.reshape or spec.dims))
            for spec in config.outputs
        }
        self._right: set[tuple[object, ...]] = set()
        self._last: tuple[object, ...] = (self,)

    def of(
        self, response: ResponseMessage, requested: tuple[str, ...]
    ) -> Sequence[str]:
        """Return a note for each output that is missing, unknown or of the wrong type.

        Parameters
        ----------
        requested
            Names of the requested outputs.
        """
        signature: tuple[object, ...] = requested
        for ref in response.outputs:
            signature += (ref.name, ref.dtype, ref.shape)
        # Hashing it costs more than comparing it.
        right = signature == self._last or signature in self._right
        if right and not response.dropped:
            self._last = signature
            return ()
        notes = self._found(response, requested)
        if not notes and len(self._right) < REMEMBERED:
            self._right.add(signature)
        return notes

    def _found(
        self, response: ResponseMessage, requested: tuple[str, ...]
    ) -> list[str]:
        outputs = response.outputs
        notes = self._unknown(response.dropped) + self._missing(outputs, requested)
        for ref in outputs:
            notes += self._contradictions(ref)
        return notes

    def _unknown(self, dropped: tuple[str, ...]) -> list[str]:
        known = ", ".join(self._specs) or "none"
        return [
            f"{self._model} returned an output {name!r} that its configuration does "
            f"not have; Triton drops it silently. Its outputs are: {known}."
            for name in dropped
            if name not in self._specs
        ]

    def _missing(
        self, outputs: tuple[TensorRef, ...], requested: tuple[str, ...]
    ) -> list[str]:
        given = {ref.name for ref in outputs}
        return [
            f"{self._model} did not return the requested output {name!r}; its caller "
            "receives a successful response without it, as on Triton."
            for name in requested
            if name not in given
        ]

    def _contradictions(self, ref: TensorRef) -> list[str]:
        datatype, shape = self._specs[ref.name]
        notes = []
        if ref.dtype.datatype != datatype:
            notes.append(
                f"{self._model} returned output {ref.name!r} as {ref.dtype.datatype}, "
                f"its configuration says {datatype}; Triton passes it on as it is, and "
                "the next model may refuse it."
            )
        if not fits(ref.shape, shape):
            notes.append(
                f"{self._model} returned output {ref.name!r} with shape "
                f"{list(ref.shape)}, its configuration says {list(shape)}; Triton "
                "passes it on as it is, and the next model may refuse it."
            )
        return notes
