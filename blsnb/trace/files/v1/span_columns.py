"""Calls of a run file, version 1: columns of JSON, one for each field of a span."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from blsnb.request_fields import RequestFields
from blsnb.tensors.ref import TensorRef
from blsnb.trace.events import CallFlag
from blsnb.trace.files import checked
from blsnb.trace.files.checked import NS, Malformed
from blsnb.trace.files.v2 import call_values
from blsnb.trace.files.v2.call_values import U2, U4, ns
from blsnb.trace.responses import ResponseEvent
from blsnb.trace.spans import Span

Tensors = Sequence[TensorRef]
_Read = Callable[[Any, Tensors], Any]


def _up_to(most: int) -> _Read:
    return lambda value, _: checked.integer(value, 0, most)


def _listed(each: Callable[[Any], Any]) -> _Read:
    return lambda value, _: checked.listed(value, each)


def numbers(tensors: Tensors) -> Callable[[Any], tuple[TensorRef, ...]]:
    """Return what reads a list of tensors' numbers."""

    def one(number: Any) -> TensorRef:
        return tensors[checked.integer(number, 0, len(tensors) - 1)]

    return lambda value: checked.listed(value, one)


def _read_responses(value: Any, tensors: Tensors) -> tuple[ResponseEvent, ...]:
    outputs_of = numbers(tensors)

    def one(row: Any) -> ResponseEvent:
        at, outputs, error, number = checked.row(row, 4)
        count = checked.integer(number, 0, U4)
        return ResponseEvent(ns(at), outputs_of(outputs), checked.text(error), count)

    return checked.listed(value, one)


_REQUEST: Sequence[Callable[[Any], Any]] = (
    lambda value: checked.integer(value, -1, NS),
    call_values.correlation_id,
    lambda value: checked.integer(value, 0, U4),
    lambda value: checked.integer(value, 0, NS * 4),
    lambda value: checked.integer(value, 0, NS * 4),
    lambda value: checked.listed(value, call_values.parameter),
)
"""Read the fields that version 1 has, in their order."""


def _read_request(value: Any, _: Tensors) -> RequestFields:
    if value is None:
        return RequestFields()
    fields = checked.row(value, len(_REQUEST))
    return RequestFields(
        *[read(each) for read, each in zip(_REQUEST, fields, strict=True)]
    )


def _text(value: Any, _: Tensors) -> str:
    return checked.text(value)


def _tensors(value: Any, tensors: Tensors) -> tuple[TensorRef, ...]:
    return numbers(tensors)(value)


_TEXTS = _listed(checked.text)
_NS = _up_to(NS)
_FIELDS: dict[str, _Read] = {
    "parent": lambda v, _: checked.integer(v, -1, NS),
    "model": _up_to(U2),
    "instance": _text,
    "request_id": _text,
    "request_fields": _read_request,
    "requested_outputs": _TEXTS,
    "flags": lambda v, _: CallFlag(checked.integer(v, 0, U2)),
    "line": _up_to(U4),
    "execution": _up_to(U4),
    "batch": _up_to(U4),
    "batching": _listed(call_values.batching),
    "request_start_ns": _NS,
    "queue_start_ns": _NS,
    "compute_start_ns": _NS,
    "compute_input_end_ns": _NS,
    "compute_output_start_ns": _NS,
    "compute_end_ns": _NS,
    "request_end_ns": _NS,
    "inputs": _tensors,
    "outputs": _tensors,
    "responses": _read_responses,
    "response_count": _up_to(U4),
    "error": _text,
    "error_code": _text,
    "logs": _listed(call_values.log_line),
    "notes": _TEXTS,
    "copies": _listed(call_values.copy),
    "device_use": lambda v, _: call_values.device_use(v),
}
"""Every field of a span except its index, which is its row."""
_OF_DEVICES = ("copies", "device_use")
"""Columns of runs on a device, which other files do not have."""


def read_spans(value: Any, models: int, tensors: Tensors) -> tuple[Span, ...]:
    """Return the spans of untrusted columns; ``models`` is the number of models."""
    columns = checked.table(value)
    size = len(checked.listed(columns.get("parent"), lambda each: each))
    read: dict[str, list[Any]] = {}
    for name, read_one in _FIELDS.items():
        if name in _OF_DEVICES and name not in columns:
            continue
        column = checked.row(checked.part(columns, name), size)
        read[name] = [read_one(each, tensors) for each in column]
    for row, (parent, model) in enumerate(
        zip(read["parent"], read["model"], strict=True)
    ):
        # A caller precedes its calls, so that no call is its own ancestor.
        if parent >= row or model >= models:
            raise Malformed(f"call {row} with caller {parent} and model {model}")
    named = (
        dict(zip(read, facts, strict=True))
        for facts in zip(*read.values(), strict=True)
    )
    return tuple(_span(row, facts) for row, facts in enumerate(named))


def _span(row: int, facts: dict[str, Any]) -> Span:
    request_id = facts.pop("request_id")
    facts["request_fields"] = facts["request_fields"]._replace(request_id=request_id)
    return Span(index=row, id=row, **facts)
