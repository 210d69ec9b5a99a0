"""Calls as columns of a run file, version 2: see docs/reference/contracts.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from blsnb.request_fields import PLAIN, RequestFields
from blsnb.tensors.ref import TensorRef
from blsnb.trace.events import CallFlag
from blsnb.trace.files import checked
from blsnb.trace.files.checked import NS, Malformed
from blsnb.trace.files.v2 import call_values
from blsnb.trace.files.v2.call_values import U2, U4
from blsnb.trace.files.v2.columns import (
    TIME,
    Column,
    Values,
    each,
    integers,
    lists,
    optional_integers,
    read_columns,
    texts,
    written,
)
from blsnb.trace.files.v2.tensor_columns import Take, references
from blsnb.trace.lazy.call_fields import TIMES
from blsnb.trace.spans import Span

MAX_ID = (1 << 31) - 1
"""Largest call id: columns of pages are 32 bits wide."""
_LATER_TIMES = TIMES[1:]
"""Times that are written in nanoseconds since the start of the request."""


def _call_flags(values: Values) -> list[CallFlag]:
    known: dict[int, CallFlag] = {}
    for value in values:
        if type(value) is not int or value not in known:
            known[value] = CallFlag(checked.integer(value, 0, U2))
    return [known[value] for value in values]


REQUEST: dict[str, Column] = {
    "version": integers(-1, NS, -1),
    "correlation_id": each(call_values.correlation_id, 0),
    "sequence_flags": integers(0, U4),
    "timeout_us": integers(0, NS * 4),
    "priority": integers(0, NS * 4),
    "parameters": lists(call_values.parameter),
    "request_id": texts(),
}
"""The fields of `RequestFields`, in their order."""
_OWN: dict[str, Column] = {
    "parent": integers(-1, MAX_ID, -1),
    "model": integers(0, U2),
    "instance": texts(),
    "requested_outputs": lists(checked.text),
    "flags": Column(0, _call_flags),
    "line": integers(0, U4),
    "execution": integers(0, U4),
    "batch": integers(0, U4),
    "batching": lists(call_values.batching),
    "request_start_ns": TIME,
    **dict.fromkeys(_LATER_TIMES, optional_integers(-NS, NS)),
    "response_count": integers(0, U4),
    "error": texts(),
    "error_code": texts(),
    "logs": lists(call_values.log_line),
    "notes": lists(checked.text),
    "copies": lists(call_values.copy),
    "device_use": each(call_values.device_use),
    "response_parameters": lists(call_values.parameter),
    "origin": each(lambda value: value),
}
_TENSORS = ("inputs", "outputs")
_IDS = integers(0, MAX_ID)


def write_calls(
    spans: Sequence[Span], parents: Sequence[int], models: Sequence[int], take: Take
) -> dict[str, Any]:
    """Return calls as the JSON of a ``CALL`` chunk.

    Parameters
    ----------
    parents
        Ids of their callers; -1 for a client request.
    models
        Numbers of their models in the file.
    """
    columns: dict[str, Values] = {
        "parent": list(parents),
        "model": list(models),
        **{name: list(map(attrgetter(name), spans)) for name in _PLAIN},
        **{name: _later(name, spans) for name in _LATER_TIMES},
        **_write_requests(spans),
    }
    for name, write in _CONVERTED.items():
        values = list(map(attrgetter(name), spans))
        # A column of defaults is omitted.
        if any(values):
            columns[name] = list(map(write, values))
    for name in _TENSORS:
        columns[name] = [take(getattr(span, name)) for span in spans]
    ids = [span.id for span in spans]
    return {"ids": ids, **written(columns, _known(()))}


def _rows(values: Sequence[Any]) -> list[Any]:
    return [list(value) for value in values]


_CONVERTED: dict[str, Callable[[Any], Any]] = {
    "flags": int,
    "requested_outputs": list,
    "notes": list,
    "batching": _rows,
    "logs": _rows,
    "copies": _rows,
    "device_use": lambda use: use and list(use),
    "response_parameters": call_values.write_parameters,
}
_PLAIN = [
    name for name in _OWN if name not in ("parent", "model", *_LATER_TIMES, *_CONVERTED)
]
"""Fields of a span that are written without conversion."""


def _later(name: str, spans: Sequence[Span]) -> Values:
    times = map(attrgetter(name), spans)
    return [
        ns - span.request_start_ns if ns else None
        for ns, span in zip(times, spans, strict=True)
    ]


def _write_requests(spans: Sequence[Span]) -> dict[str, Values]:
    requests = [span.request_fields for span in spans]
    if all(request == PLAIN for request in requests):
        return {}
    columns = dict(zip(REQUEST, map(list, zip(*requests, strict=True)), strict=True))
    parameters = map(call_values.write_parameters, columns["parameters"])
    columns["parameters"] = list(parameters)
    return columns


def _known(tensors: Sequence[TensorRef]) -> dict[str, Column]:
    numbers = references(tensors)
    return {**_OWN, **REQUEST, **dict.fromkeys(_TENSORS, numbers)}


def read_calls(
    value: dict[str, Any], models: int, tensors: Sequence[TensorRef]
) -> tuple[list[int], list[tuple[Any, ...]]]:
    """Return the ids of the calls of a chunk, and their facts in order of `FACTS`.

    Parameters
    ----------
    models
        Number of models in the chunks before.
    tensors
        Tensors of the chunks before.
    """
    ids = checked.array(checked.part(value, "ids"))
    if not ids:
        return [], []
    _IDS.read(ids)
    columns = dict(read_columns(value, _known(tensors), len(ids)))
    starts = columns["request_start_ns"] = list(columns["request_start_ns"])
    for name in _LATER_TIMES:
        columns[name] = _times(starts, columns[name])
    given = zip(*(columns.pop(name) for name in REQUEST), strict=True)
    columns["request_fields"] = _requests(given)
    rows = list(zip(*(columns[name] for name in FACTS), strict=True))
    for id, row in zip(ids, rows, strict=True):
        # Ids grow in order of start, so no call is below itself.
        if row[0] >= id or row[1] >= models:
            raise Malformed(f"call {id} with caller {row[0]} and model {row[1]}")
    return ids, rows


FACTS = ("parent", "model", *(name for name in _OWN if name not in ("parent", "model")))
FACTS += ("request_fields", *_TENSORS)
"""Fields of a span that are columns of a ``CALL`` chunk."""


def _times(starts: Values, later: Any) -> Values:
    return [
        0 if ns is None else checked.integer(start + ns, 0, NS)
        for start, ns in zip(starts, later, strict=True)
    ]


def _requests(rows: Any) -> list[RequestFields]:
    fields = (RequestFields(*row) for row in rows)
    return [PLAIN if each == PLAIN else each for each in fields]
