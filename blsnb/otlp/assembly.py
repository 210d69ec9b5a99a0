"""Assemble received spans into traces, one for each request of a client."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from blsnb.otlp.decoding import ReceivedSpan
from blsnb.otlp.encoding import (
    COMPUTE,
    INFER_REQUEST,
    MODEL_NAME,
    MODEL_VERSION,
    REQUEST_ID,
    TENSOR_DATA,
    TENSOR_DATATYPE,
    TENSOR_NAME,
    TENSOR_SHAPE,
    TENSOR_SIZE,
)
from blsnb.request_fields import PLAIN
from blsnb.tensors.ref import TensorRef
from blsnb.trace.capture import trace_of
from blsnb.trace.events import Call, CallFlag, LogLine, ModelInfo, by_start
from blsnb.trace.facts import ClockReading, TraceContext
from blsnb.trace.files.v2.tensor_columns import new_tensor
from blsnb.trace.spans import Trace
from blsnb.trace.triton.calls import limit_models
from blsnb.trace.triton.json_form import BACKEND_OUTPUT, QUEUE_INPUT, STAMP_LEVEL

NO_VALUES = (
    "A Triton server's OpenTelemetry spans contain no tensors and no errors, and only "
    "those BLS requests that a model makes with trace=request.trace()."
)
UNKNOWN_PARENT = "The span of this call's caller was not received."
CIRCLE = "In the received spans this call is its own ancestor; the cycle is cut here."
_CLOCK = ClockReading(0, 0)
"""Times of received spans are the time of day."""
_MAX_CALLS = 10_000


def assemble_one(spans: Iterable[ReceivedSpan], run_id: str) -> Trace | None:
    """Return the trace of one client request; None if it is not among the spans.

    Parameters
    ----------
    spans
        As `assemble` takes them.
    run_id
        As in its `Outline`.
    """
    family = _Family({span.span_id: span for span in spans})
    found = (root for root in family.roots() if _run_id(root) == run_id)
    root = next(found, None)
    return None if root is None else family.trace(root)


def is_call(span: ReceivedSpan) -> bool:
    """Whether a span is that of a model's request."""
    return MODEL_NAME in span.attributes


def is_request(span: ReceivedSpan) -> bool:
    """Whether a span is that of a client request."""
    return span.name == INFER_REQUEST and not is_call(span)


class Outline(NamedTuple):
    """A client request in a list."""

    run_id: str
    model: str
    version: int
    request_id: str
    start_ns: int
    """Nanoseconds since 1970."""
    duration_ns: int
    calls: int
    errors: int
    """Number of spans with an error; a Triton server sends none."""
    is_complete: bool
    """Whether its topmost span has arrived, which a server sends last."""


def outlines(spans: Iterable[ReceivedSpan]) -> list[Outline]:
    """Return the client requests of one OpenTelemetry trace, without its calls."""
    family = _Family({span.span_id: span for span in spans})
    return sorted(map(family.outline, family.roots()), key=lambda each: each.start_ns)


class _Family:
    """The spans of one OpenTelemetry trace by id."""

    def __init__(self, spans: dict[str, ReceivedSpan]) -> None:
        self._spans = spans
        self._below: dict[str, list[ReceivedSpan]] = defaultdict(list)
        for span in sorted(spans.values(), key=lambda span: span.start_ns):
            self._below[span.parent_id].append(span)

    def roots(self) -> list[ReceivedSpan]:
        """Return the spans without a received parent, and one of each cycle."""
        roots = [s for s in self._spans.values() if s.parent_id not in self._spans]
        seen: set[str] = set()
        for root in roots:
            self._reach(root, seen)
        for span in self._spans.values():
            if span.span_id not in seen:
                roots.append(span)
                self._reach(span, seen)
        return roots

    def _reach(self, root: ReceivedSpan, seen: set[str]) -> None:
        waiting = [root]
        while waiting:
            span = waiting.pop()
            if span.span_id not in seen:
                seen.add(span.span_id)
                waiting += self._below[span.span_id]

    def outline(self, root: ReceivedSpan) -> Outline:
        reached: set[str] = set()
        self._reach(root, reached)
        spans = [self._spans[each] for each in reached]
        calls = sorted(filter(is_call, spans), key=lambda span: span.start_ns)
        first = calls[0] if calls else root
        model = _model(first)
        request_id = first.attributes.get(REQUEST_ID)
        start_ns = min((span.start_ns for span in calls), default=root.start_ns)
        end_ns = max((span.end_ns for span in calls), default=root.end_ns)
        return Outline(
            _run_id(root),
            model.name,
            model.version,
            request_id if isinstance(request_id, str) else "",
            start_ns,
            end_ns - start_ns,
            len(calls),
            sum(span.is_error for span in spans),
            not is_call(root),
        )

    def trace(self, root: ReceivedSpan) -> Trace:
        found, is_cut = self._calls(root)
        calls = by_start(found)
        for number, call in enumerate(calls):
            call.id = number
        limit_models(calls)
        ensembles = _ensembles(calls)
        for call in calls:
            call.model = ensembles.get(call.model, call.model)
        end_ns = max(call.request_end_ns for call in calls)
        trace = trace_of(_run_id(root), calls, end_ns)
        has_values = any(span.has_tensors for span in trace.spans)
        remarks = [] if has_values else [NO_VALUES]
        if is_cut:
            reached: set[str] = set()
            self._reach(root, reached)
            remarks.append(
                f"The first {len(calls):,} calls of {len(reached):,} spans are shown."
            )
        context = TraceContext(root.trace_id, root.parent_id, root.state)
        return replace(trace, clock=_CLOCK, remarks=tuple(remarks), context=context)

    def _calls(self, root: ReceivedSpan) -> tuple[list[Call], bool]:
        """Return the calls, callers first, and whether some are left out."""
        waiting: list[tuple[ReceivedSpan, Call | None, list[ReceivedSpan]]] = []
        waiting.append((root, None, []))
        seen: set[str] = set()
        calls: list[Call] = []
        is_cut = False
        for span, caller, above in waiting:
            if span.span_id in seen:
                continue
            seen.add(span.span_id)
            below = self._below[span.span_id]
            if is_request(span) and any(not _is_compute(s) for s in below):
                waiting += [(each, caller, [*above, span]) for each in below]
            elif caller is not None and _is_compute(span):
                _add_times(caller, span)
            elif len(calls) == _MAX_CALLS:
                is_cut = True
            else:
                call = _call(span, caller)
                for request in above:
                    _add_request(call, request)
                if caller is None and not above:
                    self._note_parent(span, call)
                calls.append(call)
                waiting += [(each, call, []) for each in below]
        return calls, is_cut

    def _note_parent(self, span: ReceivedSpan, call: Call) -> None:
        """Note why a topmost call has no caller and no client request."""
        if span.parent_id in self._spans:
            call.notes = [CIRCLE]
        elif is_call(span):
            call.notes = [UNKNOWN_PARENT]


def _run_id(root: ReceivedSpan) -> str:
    return f"{root.trace_id}-{root.span_id}"


def _is_compute(span: ReceivedSpan) -> bool:
    return span.name == COMPUTE and not span.attributes


def _call(span: ReceivedSpan, caller: Call | None) -> Call:
    call = Call(_model(span), caller, 0)
    times = {event.name: event.ns for event in span.events}
    call.request_start_ns = times.get("REQUEST_START", span.start_ns)
    call.queue_start_ns = times.get("QUEUE_START", 0)
    call.request_end_ns = times.get("REQUEST_END", span.end_ns)
    call.ended = True
    request_id = span.attributes.get(REQUEST_ID)
    if isinstance(request_id, str):
        call.request_fields = PLAIN._replace(request_id=request_id)
    if span.is_error:
        call.flags |= CallFlag.ERROR
        call.error = span.status_text
    call.inputs = tuple(_tensors(span, QUEUE_INPUT))
    call.outputs = tuple(_tensors(span, BACKEND_OUTPUT))
    return call


def _model(span: ReceivedSpan) -> ModelInfo:
    if not is_call(span):
        return ModelInfo(span.name or "span", -1, "", "", "span", "")
    version = span.attributes.get(MODEL_VERSION)
    number = version if isinstance(version, int) else -1
    return ModelInfo(str(span.attributes[MODEL_NAME]), number, "", "", "model", "")


def _add_times(call: Call, compute: ReceivedSpan) -> None:
    times = {event.name: event.ns for event in compute.events}
    call.compute_start_ns = times.get("COMPUTE_START", compute.start_ns)
    call.compute_input_end_ns = times.get("COMPUTE_INPUT_END", 0)
    call.compute_output_start_ns = times.get("COMPUTE_OUTPUT_START", 0)
    call.compute_end_ns = times.get("COMPUTE_END", compute.end_ns)


def _add_request(call: Call, request: ReceivedSpan) -> None:
    """Add the times of the end points to a call, as lines of its log."""
    stamps = sorted(request.events, key=lambda event: event.ns)
    lines = [LogLine(event.ns, STAMP_LEVEL, event.name) for event in stamps]
    call.logs = [*(call.logs or ()), *lines]


def _tensors(span: ReceivedSpan, name: str) -> Iterator[TensorRef]:
    """Yield the tensors that blsnb sent with a call."""
    for event in span.events:
        if event.name == name and (ref := _tensor(event.attributes)) is not None:
            yield ref


def _tensor(facts: Mapping[str, Any]) -> TensorRef | None:
    """Return a tensor; None if its description is missing or contradicts its value."""
    name, datatype = facts.get(TENSOR_NAME), facts.get(TENSOR_DATATYPE)
    shape, size = facts.get(TENSOR_SHAPE), facts.get(TENSOR_SIZE)
    if not isinstance(name, str) or not isinstance(datatype, str):
        return None
    if not isinstance(shape, list):
        return None
    if any(type(each) is not int or each < 0 for each in (*shape, size)):
        return None
    data = facts.get(TENSOR_DATA)
    data = data if isinstance(data, bytes) else None
    try:
        return new_tensor(name, datatype, tuple(shape), data, "cpu", size)
    except ValueError:
        return None


def _ensembles(calls: Collection[Call]) -> dict[ModelInfo, ModelInfo]:
    """Return the models that make requests and compute nothing, as ensembles."""
    computing = {call.model for call in calls if call.compute_start_ns}
    composing = {call.parent.model for call in calls if call.parent is not None}
    return {
        model: model._replace(backend="ensemble")
        for model in composing - computing
        if model.kind == "model"
    }
