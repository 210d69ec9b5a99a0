"""Convert traces to the JSON of a Triton server with ``--trace-config``."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

from blsnb.tensors.ref import TensorRef
from blsnb.trace.events import Activity
from blsnb.trace.facts import ParameterPairs
from blsnb.trace.spans import Span, Trace
from blsnb.trace.triton import values as triton_values

STAMP_LEVEL = "TRACE"
"""Level of log lines for timestamps that are not Triton's activities."""
QUEUE_INPUT = "TENSOR_QUEUE_INPUT"
BACKEND_OUTPUT = "TENSOR_BACKEND_OUTPUT"

_BEFORE_TENSORS = (Activity.REQUEST_START.value, Activity.QUEUE_START.value)


def triton_json(traces: Iterable[Trace]) -> Iterator[str]:
    """Yield the text of a trace file, piece by piece.

    It is an array of small events. The events of a call stand together, after those of
    the calls that it made, later ones first. Errors, notes, logs, lines, instances and
    counted calls are omitted. A request's number is its call id plus the numbers of the
    runs before, beginning with 1. Keys ``request`` and ``response_parameters``, which
    other readers ignore, contain further fields of requests and responses.

    References
    ----------
    server: src/tracer.cc, TraceManager::TraceActivity
    """
    between = "["
    first = 1
    for trace in traces:
        for row in _order(trace):
            for event in _events(trace, trace.spans[row], first):
                yield between + event
                between = ","
        first += max((span.id for span in trace.spans), default=-1) + 1
    yield "[]" if between == "[" else "]"


def _order(trace: Trace) -> Iterator[int]:
    """Yield each row after its calls, later calls first, as a server does."""
    waiting = [(row, False) for row in trace.roots[::-1]]
    while waiting:
        row, is_left = waiting.pop()
        if is_left:
            yield row
            continue
        waiting.append((row, True))
        waiting.extend((child, False) for child in trace.children[row])


def _events(trace: Trace, span: Span, first: int) -> Iterator[str]:
    number = first + span.id
    stamps = {activity.value: ns for activity, ns in span.events}
    yield _metadata(trace, span, first)
    for early in _BEFORE_TENSORS:
        if early in stamps:
            yield _stamp(number, early, stamps.pop(early))
    for activity, ref in _tensors(span):
        yield _tensor(number, activity, ref)
    for activity, ns in stamps.items():
        yield _stamp(number, activity, ns)
    for line in span.logs:
        if line.level == STAMP_LEVEL:
            yield _stamp(number, line.text, line.ns)


def _metadata(trace: Trace, span: Span, first: int) -> str:
    model = trace.models[span.model]
    text = (
        f'{{"id":{first + span.id},"model_name":{json.dumps(model.name)},'
        f'"model_version":{model.version}'
    )
    if span.request_id:
        text += f',"request_id":{json.dumps(span.request_id)}'
    if span.parent >= 0:
        text += f',"parent_id":{first + trace.spans[span.parent].id}'
    for name, value in _further_fields(span).items():
        text += f',"{name}":{json.dumps(value, separators=(",", ":"))}'
    return text + "}"


def _further_fields(span: Span) -> dict[str, Any]:
    """Return further fields of a request and its responses, without defaults."""
    request = {**span.request_fields.options}
    request.pop("request_id", None)
    if "parameters" in request:
        request["parameters"] = _parameters(span.request_fields.parameters)
    # As in the file, a response is a group of outputs.
    sent = [each.parameters for each in span.responses if each.outputs]
    responses = [_parameters(each) for each in sent or [span.response_parameters]]
    found = {"request": request, "response_parameters": any(responses) and responses}
    return {name: value for name, value in found.items() if value}


def _parameters(pairs: ParameterPairs) -> dict[str, Any]:
    """Return parameters as JSON, which has only finite numbers."""
    return {
        name: str(value)
        if isinstance(value, float) and not math.isfinite(value)
        else value
        for name, value in pairs
    }


def _stamp(number: int, name: str, ns: int) -> str:
    named = json.dumps(str(name))
    return f'{{"id":{number},"timestamps":[{{"name":{named},"ns":{ns}}}]}}'


def _tensors(span: Span) -> Iterator[tuple[str, TensorRef]]:
    for ref in span.inputs:
        yield QUEUE_INPUT, ref
    for ref in span.outputs:
        yield BACKEND_OUTPUT, ref
    for response in span.responses:
        for ref in response.outputs:
            yield BACKEND_OUTPUT, ref


def _tensor(number: int, activity: str, ref: TensorRef) -> str:
    values, escaped = triton_values.written(ref)
    shape = ",".join(map(str, ref.shape))
    # An extra key of blsnb, by which readers know how to interpret backslashes.
    own = ',"escaped":true' if escaped else ""
    return (
        f'{{"id":{number},"activity":"{activity}","tensor":{{'
        f'"name":{json.dumps(ref.name)},"data":{values},"shape":"{shape}",'
        f'"dtype":{json.dumps(ref.dtype.datatype)}{own}}}}}'
    )
