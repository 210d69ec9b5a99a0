"""Recorded executions as the JSON and bodies of chunks.

See docs/reference/contracts.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from blsnb.recorder.stub.executions import (
        RecordedCall,
        RecordedExecution,
        RecordedResponse,
    )
    from blsnb.recorder.stub.tensor_rows import TensorRow

_DEFAULTS: dict[str, Any] = {
    # 0 is a time: that of the request's start.
    "request_end_ns": None,
    "compute_start_ns": None,
    "compute_end_ns": None,
    "parent": -1,
    "version": -1,
    "device": "cpu",
    "byte_size": None,
    "size": None,
    "origin": None,
    "statistics": None,
    "redacted": False,
    "correlation_id": 0,
}
_EMPTY: tuple[Any, ...] = (0, "", [], None)


class FileNumbers:
    """Numbers of the models and tensors of one file."""

    def __init__(self) -> None:
        self._models: dict[tuple[str, int], int] = {}
        self._tensors = 0
        self._new_models: list[dict[str, Any]] = []
        self._new_tensors: list[TensorRow] = []

    def chunks(
        self, executions: Sequence[RecordedExecution], sources: dict[str, str]
    ) -> list[tuple[str, dict[str, Any], list[bytes]]]:
        """Return type, JSON and body of the chunks of complete executions.

        Parameters
        ----------
        sources
            Sources of models, by name.
        """
        calls = [call for each in executions for call in each.all_calls]
        batches = {
            call.id: len(each.calls) for each in executions for call in each.calls
        }
        sent = [(call, each) for call in calls for each in call.responses]
        columns = self._call_columns(calls, batches, sources)
        responses = self._response_columns(sent)
        found: list[tuple[str, dict[str, Any], list[bytes]]] = []
        if self._new_models:
            found.append(("MODL", {"models": self._new_models}, []))
        if self._new_tensors:
            found.append(("TENS", *_tensor_columns(self._new_tensors)))
        found.append(("CALL", columns, []))
        if sent:
            found.append(("RESP", responses, []))
        self._new_models, self._new_tensors = [], []
        return found

    def _call_columns(
        self,
        calls: Sequence[RecordedCall],
        batches: dict[int, int],
        sources: dict[str, str],
    ) -> dict[str, Any]:
        columns: dict[str, list[Any]] = {
            "parent": [call.parent for call in calls],
            "model": [self._model(call, sources) for call in calls],
            "instance": [call.instance for call in calls],
            "requested_outputs": [call.requested for call in calls],
            "flags": [call.flags for call in calls],
            "execution": [call.execution for call in calls],
            "batch": [batches.get(call.id, 0) for call in calls],
            "request_start_ns": [call.start_ns for call in calls],
            "request_end_ns": [_later(call, True) for call in calls],
            "compute_start_ns": [_later(call, call.id in batches, 0) for call in calls],
            "compute_end_ns": [_later(call, call.id in batches) for call in calls],
            "response_count": [len(call.responses) for call in calls],
            "error": [call.error for call in calls],
            "error_code": [call.code for call in calls],
            "origin": [call.origin for call in calls],
            "inputs": [self._take(call.inputs) for call in calls],
            "outputs": [self._take(call.outputs) for call in calls],
        }
        for name in {name for call in calls for name in call.fields}:
            default = [] if name.endswith("parameters") else _DEFAULTS.get(name, 0)
            columns[name] = [call.fields.get(name, default) for call in calls]
        return {"ids": [call.id for call in calls], **_written(columns)}

    def _response_columns(
        self, sent: Sequence[tuple[RecordedCall, RecordedResponse]]
    ) -> dict[str, Any]:
        columns: dict[str, list[Any]] = {
            "ns": [each.ns for _, each in sent],
            "outputs": [self._take(each.outputs) for _, each in sent],
            "error": [each.error for _, each in sent],
            "number": [each.number for _, each in sent],
            "parameters": [each.parameters for _, each in sent],
        }
        return {"call": [call.id for call, _ in sent], **_written(columns)}

    def _model(self, call: RecordedCall, sources: dict[str, str]) -> int:
        key = call.model, call.version
        number = self._models.get(key)
        if number is None:
            number = self._models[key] = len(self._models)
            row: dict[str, Any] = {"name": call.model, "version": call.version}
            if call.model in sources:
                row.update(backend="python", source=sources[call.model])
            self._new_models.append(row)
        return number

    def _take(self, tensors: Sequence[TensorRow]) -> list[int]:
        first = self._tensors
        self._tensors += len(tensors)
        self._new_tensors += tensors
        return list(range(first, self._tensors))


def _later(call: RecordedCall, reached: bool, ns: int | None = None) -> int | None:
    if not (reached and call.end_ns):
        return None
    return call.end_ns - call.start_ns if ns is None else ns


def _tensor_columns(rows: Sequence[TensorRow]) -> tuple[dict[str, Any], list[bytes]]:
    names = "datatype", "shape", "device", "byte_size", "statistics", "redacted"
    columns = {name: [getattr(row, name) for row in rows] for name in names}
    columns["size"] = [None if row.data is None else len(row.data) for row in rows]
    body = [row.data for row in rows if row.data is not None]
    return {"name": [row.name for row in rows], **_written(columns)}, body


def _written(columns: dict[str, list[Any]]) -> dict[str, Any]:
    """Return columns without those that have only default values."""
    return {
        name: values
        for name, values in columns.items()
        if any(not _is_default(name, value) for value in values)
    }


def _is_default(name: str, value: Any) -> bool:
    # A boolean and a number of the same value are different in a file.
    if name in _DEFAULTS:
        default = _DEFAULTS[name]
        return type(value) is type(default) and bool(value == default)
    return value in _EMPTY
