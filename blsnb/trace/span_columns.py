"""Spans as columns of JSON, one for each of their fields, there and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from blsnb.runtimes.runtime import DeviceUse
from blsnb.tensors.ref import TensorRef
from blsnb.trace import checked
from blsnb.trace.batching import Batching
from blsnb.trace.checked import NS, Malformed
from blsnb.trace.device_work import Copy
from blsnb.trace.events import CallFlag, LogLine, RequestFields
from blsnb.trace.responses import ResponseEvent
from blsnb.trace.spans import Span
from blsnb.trace.values import ValueWriter

Columns = dict[str, list[Any]]
Tensors = Sequence[TensorRef]
_Write = Callable[[Any, ValueWriter], Any]
_Read = Callable[[Any, Tensors], Any]


class _Field(NamedTuple):
    """How a field of a span is written and read."""

    write: _Write
    read: _Read


def _up_to(most: int) -> _Field:
    return _Field(lambda value, _: int(value), lambda v, _: checked.integer(v, 0, most))


def _listed(each: Callable[[Any], Any]) -> _Field:
    return _Field(lambda value, _: list(value), lambda v, _: checked.listed(v, each))


def numbers(tensors: Tensors) -> Callable[[Any], tuple[TensorRef, ...]]:
    """Return what reads a list of tensors' numbers."""

    def one(number: Any) -> TensorRef:
        return tensors[checked.integer(number, 0, len(tensors) - 1)]

    return lambda value: checked.listed(value, one)


def _log_line(value: Any) -> LogLine:
    ns, level, text = checked.row(value, 3)
    return LogLine(_ns(ns), checked.text(level), checked.text(text))


def _batching(value: Any) -> Batching:
    execution, joined, cause, words, runs, times = checked.row(value, 6)
    return Batching(
        checked.integer(execution, 0, _U4),
        checked.flag(joined),
        checked.text(cause),
        checked.text(words),
        checked.listed(runs, checked.text),
        checked.integer(times, 0, _U4),
    )


def _copy(value: Any) -> Copy:
    ns, duration_ns, tensor, byte_size, source, target, hostile = checked.row(value, 7)
    return Copy(
        _ns(ns),
        _ns(duration_ns),
        checked.text(tensor),
        _ns(byte_size),
        checked.text(source),
        checked.text(target),
        checked.flag(hostile),
    )


def _device_use(value: Any, _: Tensors) -> DeviceUse | None:
    if value is None:
        return None
    device, *counts = checked.row(value, 4)
    return DeviceUse(checked.text(device), *map(_ns, counts))


def _ns(value: Any) -> int:
    return checked.integer(value, 0, NS)


def _write_responses(events: Sequence[ResponseEvent], values: ValueWriter) -> Any:
    return [[e.ns, values.take(e.outputs), e.error, e.number] for e in events]


def _read_responses(value: Any, tensors: Tensors) -> tuple[ResponseEvent, ...]:
    outputs_of = numbers(tensors)

    def one(row: Any) -> ResponseEvent:
        ns, outputs, error, number = checked.row(row, 4)
        count = checked.integer(number, 0, _U4)
        return ResponseEvent(_ns(ns), outputs_of(outputs), checked.text(error), count)

    return checked.listed(value, one)


def write_parameter(value: bool | int | float | str) -> Any:
    """Return a parameter as JSON has it: no infinity, and no integer for a float."""
    return [value.hex()] if isinstance(value, float) else value


def read_parameter(value: Any) -> bool | int | float | str:
    """Return a parameter that was written.

    Raises
    ------
    Malformed
        It is none.
    """
    if isinstance(value, list):
        (digits,) = checked.row(value, 1)
        number = float.fromhex(checked.text(digits))
        return math.nan if math.isnan(number) else number
    if isinstance(value, bool | str):
        return value
    return checked.integer(value, -NS * 4, NS * 4)


def _write_request(fields: RequestFields, _: ValueWriter) -> Any:
    if fields == RequestFields():
        return None
    parameters = [[name, write_parameter(value)] for name, value in fields.parameters]
    return [*fields[:-1], parameters]


def _read_request(value: Any, _: Tensors) -> RequestFields:
    if value is None:
        return RequestFields()
    version, correlation_id, flags, timeout_us, priority, parameters = checked.row(
        value, 6
    )
    if not isinstance(correlation_id, str):
        correlation_id = checked.integer(correlation_id, 0, NS * 4)
    return RequestFields(
        checked.integer(version, -1, NS),
        correlation_id,
        checked.integer(flags, 0, _U4),
        checked.integer(timeout_us, 0, NS * 4),
        checked.integer(priority, 0, NS * 4),
        checked.listed(parameters, _parameter),
    )


def _parameter(value: Any) -> tuple[str, bool | int | float | str]:
    name, given = checked.row(value, 2)
    return checked.text(name), read_parameter(given)


_U2, _U4 = (1 << 16) - 1, (1 << 32) - 1
_TEXT = _Field(lambda value, _: value, lambda v, _: checked.text(v))
_TEXTS = _listed(checked.text)
_NS = _up_to(NS)
_TENSORS = _Field(
    lambda refs, values: values.take(refs), lambda v, tensors: numbers(tensors)(v)
)
FIELDS: dict[str, _Field] = {
    "parent": _Field(lambda value, _: value, lambda v, _: checked.integer(v, -1, NS)),
    "model": _up_to(_U2),
    "instance": _TEXT,
    "request_id": _TEXT,
    "request_fields": _Field(_write_request, _read_request),
    "requested_outputs": _TEXTS,
    "flags": _Field(
        lambda value, _: int(value), lambda v, _: CallFlag(checked.integer(v, 0, _U2))
    ),
    "line": _up_to(_U4),
    "execution": _up_to(_U4),
    "batch": _up_to(_U4),
    "batching": _Field(
        lambda value, _: [list(each) for each in value],
        lambda v, _: checked.listed(v, _batching),
    ),
    "request_start_ns": _NS,
    "queue_start_ns": _NS,
    "compute_start_ns": _NS,
    "compute_input_end_ns": _NS,
    "compute_output_start_ns": _NS,
    "compute_end_ns": _NS,
    "request_end_ns": _NS,
    "inputs": _TENSORS,
    "outputs": _TENSORS,
    "responses": _Field(_write_responses, _read_responses),
    "response_count": _up_to(_U4),
    "error": _TEXT,
    "error_code": _TEXT,
    "logs": _Field(
        lambda value, _: [list(line) for line in value],
        lambda v, _: checked.listed(v, _log_line),
    ),
    "notes": _TEXTS,
    "copies": _Field(
        lambda value, _: [list(copy) for copy in value],
        lambda v, _: checked.listed(v, _copy),
    ),
    "device_use": _Field(
        lambda value, _: None if value is None else list(value), _device_use
    ),
}
"""Every field of a span but its index, which is its row."""
_OF_DEVICES = ("copies", "device_use")
"""Columns of runs on a device; other files, and older ones, do not have them."""


def write_spans(
    spans: Sequence[Span], order: Sequence[int], values: ValueWriter
) -> Columns:
    """Return a list for each field.

    Parameters
    ----------
    order
        All rows, those first whose tensors' values matter most.
    """
    # Tensors are numbered in this order: the first ones find room.
    for at in order:
        span = spans[at]
        values.take((*span.inputs, *span.outputs))
        for response in span.responses:
            values.take(response.outputs)
    unused = [
        name for name in _OF_DEVICES if not any(getattr(span, name) for span in spans)
    ]
    return {
        name: [field.write(getattr(span, name), values) for span in spans]
        for name, field in FIELDS.items()
        if name not in unused
    }


def read_spans(value: Any, models: int, tensors: Tensors) -> tuple[Span, ...]:
    """Return the spans of columns that anybody may have written.

    Parameters
    ----------
    models
        How many models there are.

    Raises
    ------
    Malformed
        They are none.
    """
    columns = checked.table(value)
    size = len(checked.listed(columns.get("parent"), lambda each: each))
    read: dict[str, list[Any]] = {}
    for name, field in FIELDS.items():
        if name in _OF_DEVICES and name not in columns:
            continue
        column = checked.row(checked.part(columns, name), size)
        read[name] = [field.read(each, tensors) for each in column]
    for row, (parent, model) in enumerate(
        zip(read["parent"], read["model"], strict=True)
    ):
        # A caller stands before its calls, so that no call is below itself.
        if parent >= row or model >= models:
            raise Malformed(f"call {row} with caller {parent} and model {model}")
    named = (
        dict(zip(read, facts, strict=True))
        for facts in zip(*read.values(), strict=True)
    )
    return tuple(Span(index=row, id=row, **facts) for row, facts in enumerate(named))
