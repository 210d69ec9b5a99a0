"""The real server's runs: its own trace of each request, with the exact values."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from blsnb.parity.triton.answers import Answer, Answers
from blsnb.pb_utils.message import RequestMessage
from blsnb.response import Response
from blsnb.run import ImportedRun, Run
from blsnb.tensors.ref import TensorRef
from blsnb.trace.alignment import align
from blsnb.trace.capture import trace_of
from blsnb.trace.events import Call, CallFlag, ModelInfo
from blsnb.trace.responses import ResponseEvent
from blsnb.trace.spans import Span, Trace

_DIGITS = 1e-5
"""A float of a trace file has six digits."""
_SEEN_OUTSIDE = (
    "The real server's own trace is not here: the times are those of its client."
)


def real_run(
    message: RequestMessage,
    answers: Answers,
    traces: Iterable[Trace],
    ours: Run | None,
) -> Run:
    """Return what is known of a request on the real server, as a run.

    Parameters
    ----------
    traces
        What the server has traced: that of this request is looked for by its time.
    ours
        The same request here: where a value of the trace is that of ours but for its
        digits, it is taken for the same.
    """
    found = _found(traces, message.model_name, answers)
    trace = _outside(message, answers) if found is None else found
    trace = _exact(trace, message, answers, None if ours is None else ours.trace)
    responses = [_response(answer) for answer in answers.responses]
    failure = answers.failure
    return ImportedRun(trace, responses, None if failure is None else failure.text)


def _found(traces: Iterable[Trace], name: str, answers: Answers) -> Trace | None:
    # Both clocks are the machine's monotonic one.
    until_ns = answers.began_ns + answers.took_ns
    for trace in traces:
        if trace.title == name and answers.began_ns <= trace.start_ns <= until_ns:
            return trace
    return None


def _outside(message: RequestMessage, answers: Answers) -> Trace:
    """Return the trace of a request as its client saw it."""
    version = message.model_version
    call = Call(ModelInfo(message.model_name, version, "", "", "model", ""), None, 0)
    call.request_id = message.request_id
    call.request_start_ns = answers.began_ns or 1
    call.request_end_ns = call.request_start_ns + answers.took_ns
    if len(answers.responses) > 1:
        call.flags |= CallFlag.DECOUPLED
    trace = trace_of("triton", [call], call.request_end_ns)
    return dataclasses.replace(trace, remarks=(_SEEN_OUTSIDE,))


def _exact(
    trace: Trace, message: RequestMessage, answers: Answers, ours: Trace | None
) -> Trace:
    """Put in the values that are known better than from a trace file."""
    spans = list(trace.spans)
    twins = {} if ours is None else dict(align(trace, ours).pairs)
    for row, at in twins.items():
        spans[row] = _sharpened(spans[row], ours.spans[at]) if ours else spans[row]
    root = trace.roots[0]
    twin = ours.spans[twins[root]] if ours and root in twins else None
    spans[root] = _root(spans[root], message, answers, twin)
    return dataclasses.replace(trace, spans=tuple(spans))


def _root(
    span: Span, message: RequestMessage, answers: Answers, twin: Span | None
) -> Span:
    """Return the request from outside with what its client was answered."""
    streamed = bool(span.responses or (twin and twin.response_count))
    events = tuple(_events(span, answers)) if streamed else ()
    single = () if streamed else answers.responses[:1]
    failure = None if streamed else answers.failure
    return dataclasses.replace(
        span,
        inputs=message.inputs,
        outputs=single[0].outputs if single else (),
        responses=events,
        response_count=len(events),
        error=failure.text if failure else "",
        error_code=failure.code if failure else "",
        flags=span.flags | CallFlag.ERROR if failure else span.flags,
    )


def _events(span: Span, answers: Answers) -> Iterator[ResponseEvent]:
    """Yield the responses at the times of the trace, where it has them."""
    traced = iter(span.responses)
    for number, answer in enumerate(answers.responses):
        # Of a final flag that was sent alone a trace says nothing.
        event = next(traced, None) if answer.outputs else None
        at_ns = answers.began_ns + answer.at_ns if event is None else event.ns
        text = answer.failure.text if answer.failure else ""
        yield ResponseEvent(at_ns, answer.outputs, text, number)


def _sharpened(span: Span, ours: Span) -> Span:
    return dataclasses.replace(
        span,
        inputs=_sharp(span.inputs, ours.inputs),
        outputs=_sharp(span.outputs, ours.outputs),
    )


def _sharp(
    refs: Sequence[TensorRef], ours: Sequence[TensorRef]
) -> tuple[TensorRef, ...]:
    known = {ref.name: ref for ref in ours}
    return tuple(
        known[ref.name] if _rounded_alike(ref, known.get(ref.name)) else ref
        for ref in refs
    )


def _rounded_alike(ref: TensorRef, ours: TensorRef | None) -> bool:
    """Whether a value of a trace file is ours, but for the digits that it lacks."""
    if ours is None or ref.evicted or ours.evicted:
        return False
    alike = (ref.dtype, ref.shape) == (ours.dtype, ours.shape)
    if not alike or ref.dtype.dtype is None or ref.dtype.dtype.kind != "f":
        return False
    with np.errstate(all="ignore"):
        near = np.isclose(ref.view(), ours.view(), rtol=_DIGITS, atol=0, equal_nan=True)
    return bool(near.all())


def _response(answer: Answer) -> Response:
    error = None if answer.failure is None else answer.failure.text
    return Response(answer.outputs, error, answer.final, answer.parameters)
