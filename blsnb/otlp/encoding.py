"""Convert traces to OpenTelemetry spans with Triton's names."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from importlib import metadata
from typing import Any

from blsnb.otlp.ids import REQUEST, Ids
from blsnb.tensors.ref import TensorRef
from blsnb.trace.events import Activity, CallFlag
from blsnb.trace.facts import ClockReading
from blsnb.trace.spans import Span, Trace
from blsnb.trace.triton.json_form import BACKEND_OUTPUT, QUEUE_INPUT, STAMP_LEVEL

INFER_REQUEST, COMPUTE = "InferRequest", "compute"
COMPLETE = "INFER_RESPONSE_COMPLETE"
SERVICE, SCOPE = "triton-inference-server", "triton-server"
MODEL_NAME, MODEL_VERSION = "triton.model_name", "triton.model_version"
REQUEST_ID = "triton.request_id"
TENSOR_NAME, TENSOR_DATATYPE = "triton.tensor.name", "triton.tensor.datatype"
TENSOR_SHAPE, TENSOR_SIZE = "triton.tensor.shape", "triton.tensor.byte_size"
TENSOR_DATA = "triton.tensor.data"
SERVER_KIND = 2
ERROR_STATUS = 2
_CALL = (Activity.REQUEST_START, Activity.QUEUE_START, Activity.REQUEST_END)
_COMPUTE = (
    Activity.COMPUTE_START,
    Activity.COMPUTE_INPUT_END,
    Activity.COMPUTE_OUTPUT_START,
    Activity.COMPUTE_END,
)

Json = dict[str, Any]


def document(spans: list[Json]) -> Json:
    """Return spans as an export request of OTLP/JSON."""
    resource = {
        "telemetry.sdk.version": metadata.version("blsnb"),
        "telemetry.sdk.name": "blsnb",
        "telemetry.sdk.language": "python",
        "service.name": SERVICE,
    }
    scope_spans = {"scope": {"name": SCOPE}, "spans": spans}
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes(resource)},
                "scopeSpans": [scope_spans],
            }
        ]
    }


def spans_of(trace: Trace, clock: ClockReading, *, tensors: bool = False) -> list[Json]:
    """Return the spans of a trace in OTLP/JSON, in the order of a server.

    Calls that still run are left out, with those that they made.

    Parameters
    ----------
    clock
        Offset between the times of the trace and the time of day.
    tensors
        Whether calls have an event for each tensor. Triton sends none.

    References
    ----------
    server: src/tracer.cc, TraceManager::Trace::StartSpan, EndSpan
    """
    return list(_Encoder(trace, clock, tensors).spans())


class _Encoder:
    def __init__(self, trace: Trace, clock: ClockReading, tensors: bool) -> None:
        self._trace = trace
        self._offset_ns = clock.unix_ns - clock.monotonic_ns
        self._tensors = tensors
        self._ids = Ids(trace.run_id, trace.start_ns, trace.context)

    def spans(self) -> Iterator[Json]:
        """Yield the spans; those of calls before those of their callers."""
        for root in self._trace.roots:
            waiting = [(root, False)]
            while waiting:
                row, is_left = waiting.pop()
                span = self._trace.spans[row]
                if span.running:
                    continue
                if is_left:
                    yield from self._call(span)
                    continue
                waiting.append((row, True))
                waiting += [(row, False) for row in self._trace.children[row][::-1]]
            if not self._trace.spans[root].running:
                yield self._request(self._trace.spans[root])

    def _call(self, span: Span) -> Iterator[Json]:
        model = self._trace.models[span.model]
        caller = None if span.parent < 0 else self._trace.spans[span.parent].id
        parent = (REQUEST, str(span.id)) if caller is None else (caller,)
        times = dict(span.events)
        if span.compute_start_ns:
            yield self._span(
                COMPUTE,
                (span.id, COMPUTE),
                self._ids.span_id(span.id),
                (span.compute_start_ns, span.compute_end_ns or span.request_end_ns),
                [self._event(a, times[a]) for a in _COMPUTE if a in times],
            )
        encoded = self._span(
            model.name,
            (span.id,),
            self._ids.span_id(*parent),
            (span.request_start_ns, span.request_end_ns),
            [],
        )
        if model.kind != "span":
            encoded["events"] += [self._event(a, times[a]) for a in _CALL if a in times]
            encoded["attributes"] = _attributes(self._facts(span, caller))
        if self._tensors:
            encoded["events"] += self._tensor_events(span)
        if span.flags & CallFlag.ERROR:
            encoded["status"] = {"message": span.error, "code": ERROR_STATUS}
        yield encoded

    def _facts(self, span: Span, caller: int | None) -> Json:
        model = self._trace.models[span.model]
        facts = {
            MODEL_NAME: model.name,
            MODEL_VERSION: model.version,
            "triton.trace_id": span.id + 1,
            "triton.trace_parent_id": 0 if caller is None else caller + 1,
        }
        if span.request_id:
            facts[REQUEST_ID] = span.request_id
        return facts

    def _request(self, root: Span) -> Json:
        """Return the span of a client request, the parent of its model's."""
        context = self._trace.context
        stamps = [line for line in root.logs if line.level == STAMP_LEVEL]
        events = [self._event(line.text, line.ns) for line in stamps]
        answered_ns = root.compute_end_ns or root.request_end_ns
        return self._span(
            INFER_REQUEST,
            (REQUEST, str(root.id)),
            "" if context is None else context.parent_id,
            (root.request_start_ns, root.request_end_ns),
            events or [self._event(COMPLETE, answered_ns)],
        )

    def _span(
        self,
        name: str,
        key: tuple[int | str] | tuple[int | str, str],
        parent: str,
        times: tuple[int, int],
        events: list[Json],
    ) -> Json:
        start_ns, end_ns = times
        span = {
            "traceId": self._ids.trace_id,
            "spanId": self._ids.span_id(*key),
            "name": name,
            "kind": SERVER_KIND,
            "startTimeUnixNano": self._time(start_ns),
            "endTimeUnixNano": self._time(end_ns),
            "events": events,
        }
        if parent:
            span["parentSpanId"] = parent
        if self._trace.context is not None and self._trace.context.state:
            span["traceState"] = self._trace.context.state
        return span

    def _event(self, name: str, ns: int) -> Json:
        return {"name": str(name), "timeUnixNano": self._time(ns)}

    def _time(self, ns: int) -> str:
        return str(ns + self._offset_ns)

    def _tensor_events(self, span: Span) -> Iterator[Json]:
        start_ns = span.queue_start_ns or span.request_start_ns
        for ref in span.inputs:
            yield self._event(QUEUE_INPUT, start_ns) | _tensor(ref)
        answered_ns = span.compute_output_start_ns or span.request_end_ns
        for ref in span.outputs:
            yield self._event(BACKEND_OUTPUT, answered_ns) | _tensor(ref)
        for response in span.responses:
            for ref in response.outputs:
                yield self._event(BACKEND_OUTPUT, response.ns) | _tensor(ref)


def _tensor(ref: TensorRef) -> Json:
    facts: Json = {
        TENSOR_NAME: ref.name,
        TENSOR_DATATYPE: ref.dtype.datatype,
        TENSOR_SHAPE: list(ref.shape),
        TENSOR_SIZE: ref.byte_size,
    }
    if ref.data is not None:
        facts[TENSOR_DATA] = bytes(ref.data)
    return {"attributes": _attributes(facts)}


def _attributes(facts: Json) -> list[Json]:
    return [{"key": key, "value": _value(value)} for key, value in facts.items()]


def _value(value: Any) -> Json:
    match value:
        case int():
            return {"intValue": str(value)}
        case bytes():
            return {"bytesValue": base64.b64encode(value).decode()}
        case list():
            return {"arrayValue": {"values": [_value(each) for each in value]}}
    return {"stringValue": value}
