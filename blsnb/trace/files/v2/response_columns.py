"""Responses as columns of a run file, version 2: of calls, and of the client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blsnb.tensors.ref import TensorRef
from blsnb.trace.files import checked
from blsnb.trace.files.saved_run import SavedResponse
from blsnb.trace.files.v2 import call_values
from blsnb.trace.files.v2.call_columns import MAX_ID
from blsnb.trace.files.v2.call_values import U4
from blsnb.trace.files.v2.columns import (
    TIME,
    Column,
    Values,
    each,
    integers,
    lists,
    rows_of,
    texts,
    written,
)
from blsnb.trace.files.v2.tensor_columns import Take, references
from blsnb.trace.responses import ResponseEvent


def _response_columns(tensors: Sequence[TensorRef]) -> dict[str, Column]:
    return {
        "call": integers(0, MAX_ID),
        "ns": TIME,
        "outputs": references(tensors),
        "error": texts(),
        "number": integers(0, U4),
        "parameters": lists(call_values.parameter),
    }


def write_responses(
    events: Sequence[tuple[int, ResponseEvent]], take: Take
) -> dict[str, Any]:
    """Return responses, each with the id of its call, as JSON of a ``RESP`` chunk."""
    columns: dict[str, Values] = {
        "ns": [event.ns for _, event in events],
        "outputs": [take(event.outputs) for _, event in events],
        "error": [event.error for _, event in events],
        "number": [event.number for _, event in events],
        "parameters": [call_values.write_parameters(e.parameters) for _, e in events],
    }
    calls = [call for call, _ in events]
    return {"call": calls, **written(columns, _response_columns(()))}


def read_responses(
    value: dict[str, Any], tensors: Sequence[TensorRef]
) -> list[tuple[int, ResponseEvent]]:
    """Return the responses of a chunk, each with the id of its call."""
    rows = rows_of(value, _response_columns(tensors), "call")
    return [(call, ResponseEvent(*facts)) for call, *facts in rows]


def _answer_columns(tensors: Sequence[TensorRef]) -> dict[str, Column]:
    return {
        "final": each(checked.flag, False),
        "outputs": references(tensors),
        "error": each(checked.optional_text),
        "parameters": lists(call_values.parameter),
    }


def write_answer(responses: Sequence[SavedResponse], take: Take) -> dict[str, Any]:
    """Return the client's responses as columns."""
    columns: dict[str, Values] = {
        "outputs": [take(each.outputs) for each in responses],
        "error": [each.error for each in responses],
        "parameters": [
            call_values.write_parameters(each.parameters.items()) for each in responses
        ],
    }
    final = [each.final for each in responses]
    return {"final": final, **written(columns, _answer_columns(()))}


def read_answer(value: Any, tensors: Sequence[TensorRef]) -> tuple[SavedResponse, ...]:
    """Return the client's responses."""
    rows = rows_of(value, _answer_columns(tensors), "final")
    return tuple(
        SavedResponse(outputs, error, final, dict(parameters))
        for final, outputs, error, parameters in rows
    )
