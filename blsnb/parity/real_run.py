"""Runs of a real server: its trace of each request, completed with exact values."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from blsnb.parity.triton.outcome import ClientOutcome, ClientResponse
from blsnb.pb_utils.message import RequestMessage
from blsnb.results.response import Response
from blsnb.results.run import ImportedRun, Run
from blsnb.tensors.ref import TensorRef
from blsnb.trace.alignment import align
from blsnb.trace.capture import trace_of
from blsnb.trace.events import Call, CallFlag, ModelInfo
from blsnb.trace.responses import ResponseEvent
from blsnb.trace.spans import Span, Trace

_PRECISION = 1e-5
"""Relative precision of floats in a trace file, which have six digits."""
_CLIENT_TIMES = "No trace of the real server: the times were measured by its client."


def real_run(
    message: RequestMessage,
    outcome: ClientOutcome,
    traces: Iterable[Trace],
    actual: Run | None,
) -> Run:
    """Return a request on the real server as a run.

    Parameters
    ----------
    outcome
        What its client received.
    traces
        The server's traces; that of this request is identified by its time.
    actual
        The same request on blsnb. A traced value that equals its value within the
        precision of a trace file is replaced by it.
    """
    found = _trace_of(traces, message.model_name, outcome)
    trace = _client_trace(message, outcome) if found is None else found
    spans, root, twin = list(trace.spans), trace.roots[0], None
    if actual is not None:
        for row, at in align(trace, actual.trace).pairs:
            baseline = actual.trace.spans[at]
            spans[row] = _exact(spans[row], baseline)
            twin = baseline if row == root else twin
    spans[root] = _root(spans[root], message, outcome, twin)
    trace = dataclasses.replace(trace, spans=tuple(spans))
    responses = [_response(each) for each in outcome.responses]
    failure = outcome.failure
    return ImportedRun(trace, responses, None if failure is None else failure.text)


def _trace_of(
    traces: Iterable[Trace], name: str, outcome: ClientOutcome
) -> Trace | None:
    # Both clocks are the machine's monotonic one.
    end_ns = outcome.start_ns + outcome.duration_ns
    for trace in traces:
        if trace.title == name and outcome.start_ns <= trace.start_ns <= end_ns:
            return trace
    return None


def _client_trace(message: RequestMessage, outcome: ClientOutcome) -> Trace:
    version = message.fields.version
    call = Call(ModelInfo(message.model_name, version, "", "", "model", ""), None, 0)
    call.request_fields = message.fields
    call.request_start_ns = outcome.start_ns or 1
    call.request_end_ns = call.request_start_ns + outcome.duration_ns
    if len(outcome.responses) > 1:
        call.flags |= CallFlag.DECOUPLED
    trace = trace_of("triton", [call], call.request_end_ns)
    return dataclasses.replace(trace, remarks=(_CLIENT_TIMES,))


def _root(
    span: Span, message: RequestMessage, outcome: ClientOutcome, twin: Span | None
) -> Span:
    """Return the client's request with the responses that the client received."""
    streamed = bool(span.responses or (twin and twin.response_count))
    events = tuple(_events(span, outcome)) if streamed else ()
    single = () if streamed else outcome.responses[:1]
    failure = None if streamed else outcome.failure
    return dataclasses.replace(
        span,
        inputs=message.inputs,
        outputs=single[0].outputs if single else (),
        responses=events,
        response_count=len(events),
        response_parameters=tuple(single[0].parameters.items()) if single else (),
        error=failure.text if failure else "",
        error_code=failure.code if failure else "",
        flags=span.flags | CallFlag.ERROR if failure else span.flags,
    )


def _events(span: Span, outcome: ClientOutcome) -> Iterator[ResponseEvent]:
    """Yield the responses, at the times of the trace where it has them."""
    traced = iter(span.responses)
    for number, response in enumerate(outcome.responses):
        # A trace does not contain a final flag that was sent alone.
        event = next(traced, None) if response.outputs else None
        at_ns = outcome.start_ns + response.at_ns if event is None else event.ns
        text = response.failure.text if response.failure else ""
        parameters = tuple(response.parameters.items())
        yield ResponseEvent(at_ns, response.outputs, text, number, parameters)


def _exact(span: Span, actual: Span) -> Span:
    return dataclasses.replace(
        span,
        inputs=_exact_refs(span.inputs, actual.inputs),
        outputs=_exact_refs(span.outputs, actual.outputs),
    )


def _exact_refs(
    refs: Sequence[TensorRef], actual: Sequence[TensorRef]
) -> tuple[TensorRef, ...]:
    known = {ref.name: ref for ref in actual}
    return tuple(
        known[ref.name] if _equal_but_rounded(ref, known.get(ref.name)) else ref
        for ref in refs
    )


def _equal_but_rounded(ref: TensorRef, actual: TensorRef | None) -> bool:
    if actual is None or ref.evicted or actual.evicted:
        return False
    same_type = (ref.dtype, ref.shape) == (actual.dtype, actual.shape)
    if not same_type or ref.dtype.dtype is None or ref.dtype.dtype.kind != "f":
        return False
    with np.errstate(all="ignore"):
        near = np.isclose(
            ref.view(), actual.view(), rtol=_PRECISION, atol=0, equal_nan=True
        )
    return bool(near.all())


def _response(response: ClientResponse) -> Response:
    error = None if response.failure is None else response.failure.text
    return Response(response.outputs, error, response.final, response.parameters)
