"""Encode a trace for the page: a JSON header and columns of numbers.

The counterpart of wire.ts and store.ts in js/src/trace; both are tested with the same
golden files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from blsnb.printable import printable
from blsnb.trace.comparison import AnyTrace, sides
from blsnb.trace.dropped import because, drop_of, missing_values, notice
from blsnb.trace.events import ModelInfo
from blsnb.trace.lazy.lazy_rows import column_of
from blsnb.trace.spans import Span, Trace
from blsnb.views.columns import PHASES, Columns, columns_of
from blsnb.views.documents import baseline
from blsnb.views.documents.buffer import Buffer
from blsnb.views.documents.call_tables import MAX_TEXT, call_tables
from blsnb.views.documents.numbering import Numbering
from blsnb.views.documents.profiles import lines_header, profile_header
from blsnb.views.format import sendable
from blsnb.views.summary import State, state_of

FORMAT = 2
HEIGHT = 400
"""Minimum height of a view in pixels, enough for one call."""
LIVE_HEIGHT = 480
"""Minimum height of a running run, which will get further calls."""
_MAX_SOURCE = 256 << 10
_UNKNOWN = ModelInfo("", -1, "", "", "model", "")
_OF_BASELINE = (
    *("format", "run", "start_ns", "n"),
    *("models", "errors", "columns", "requests"),
)
"""Fields of a baseline's header that the page needs."""

_OF_RESPONSES = "id", "request_start_ns", "responses"

Header = dict[str, Any]


def page_id(run: AnyTrace) -> str:
    """Return an id of a run that is unique in a page.

    A notebook may show runs of several kernels, which use the same run numbers.
    """
    trace, comparison = sides(run)
    # A forged file may contain any id; HTML changes some characters.
    name = f"{printable(trace.run_id)}-{trace.start_ns:x}"
    return f"{name}-vs-{page_id(comparison.baseline)}" if comparison else name


def assemble(
    run: AnyTrace,
    rows: Sequence[int] | None = None,
    *,
    state: State | None = None,
    numbering: Numbering | None = None,
    notes: Sequence[str] = (),
    height: int = HEIGHT,
    buffer: Buffer | None = None,
) -> tuple[Header, Buffer]:
    """Return a header and a buffer to which previews can still be added.

    The baseline of a comparison is a header of its own, in the same buffer.

    Parameters
    ----------
    rows
        Positions of the calls to send; all if None. A column has their ids, unless
        all calls are sent and each id is a position.
    state
        State of the run, if it cannot be derived from its calls.
    numbering
        Numbers of models and instances, if the trace is sent in parts.
    notes
        Notes on the whole run; they are shown with its first call.
    height
        Minimum height of the view in pixels, or its last height.
    buffer
        Receives the columns; a new one if None.
    """
    trace, comparison = sides(run)
    spans = trace.spans if rows is None else [trace.spans[row] for row in rows]
    numbering = numbering or Numbering()
    buffer = Buffer() if buffer is None else buffer
    columns = columns_of(trace, rows)
    placed = _columns(columns, trace, spans, numbering, buffer)
    ids = _ids(spans)
    if rows is not None or not np.array_equal(ids, np.arange(len(ids))):
        placed["id"] = buffer.add_column(ids, "i4")
    header = _header(trace, state, numbering)
    header |= call_tables(trace, spans, [*trace.remarks, *notes])
    header["sources"] = _sources(trace, spans, numbering)
    if trace.profiles:
        header["profile"] = profile_header(trace, numbering, buffer) or None
        header["lines"] = lines_header(trace)
    names = numbering.instances.listed()
    instances = [sendable(name or "", MAX_TEXT) for name in names]
    header |= {"instances": instances, "columns": placed, "ui": {"height": height}}
    if comparison:
        before, _ = assemble(comparison.baseline, buffer=buffer)
        header["baseline"] = {name: before[name] for name in _OF_BASELINE}
        placed |= baseline.baseline_columns(comparison, buffer)
        header |= baseline.changes(comparison)
    return header, buffer


def _ids(spans: Sequence[Span]) -> np.ndarray[Any, Any]:
    return np.array(column_of(spans, "id"), np.int32)


def _columns(
    columns: Columns,
    trace: Trace,
    spans: Sequence[Span],
    numbering: Numbering,
    buffer: Buffer,
) -> dict[str, list[Any]]:
    names = column_of(spans, "instance")
    number = {name: numbering.instances.number(name) for name in dict.fromkeys(names)}
    instance = np.array([number[name] for name in names], np.uint16)
    # The last element is the caller's id of a client request: -1 as a position.
    callers = np.append(_ids(trace.spans), -1)[columns.parent]
    models = np.array(numbering.of_models(trace), np.uint16)[columns.model]
    placed = {
        "parent": buffer.add_column(callers.astype(np.int32), "i4"),
        "model": buffer.add_column(models, "u2"),
        "instance": buffer.add_column(instance, "u2"),
        "flags": buffer.add_column(columns.flags, "u2"),
        "responses": buffer.add_column(columns.responses, "u4"),
        "start_us": buffer.add_column(columns.start_us, "f8"),
    }
    for name, phase in zip(PHASES, columns.phases, strict=True):
        placed[name] = buffer.add_column(phase, "f4")
    placed["line"] = buffer.add_column(columns.line, "u4")
    placed["execution"] = buffer.add_column(columns.execution, "u4")
    placed["batch"] = buffer.add_column(columns.batch, "u4")
    return placed | _response_columns(spans, buffer) | _copy_columns(spans, buffer)


def _response_columns(spans: Sequence[Span], buffer: Buffer) -> dict[str, list[Any]]:
    columns = (column_of(spans, name) for name in _OF_RESPONSES)
    sent = [
        (call, (response.ns - start_ns) / 1000, response.number, position)
        for call, start_ns, responses in zip(*columns, strict=True)
        for position, response in enumerate(responses)
    ]
    calls, us, numbers, positions = np.array(sent, np.float64).reshape(-1, 4).T
    placed = {
        "response_call": buffer.add_column(calls, "i4"),
        "response_us": buffer.add_column(us, "f4"),
    }
    # Without it numbers are positions: of most calls all responses are kept.
    if not np.array_equal(numbers, positions):
        placed["response_number"] = buffer.add_column(numbers, "u4")
    return placed


def _copy_columns(spans: Sequence[Span], buffer: Buffer) -> dict[str, list[Any]]:
    """Return the sums of copies between host and device, if there are any."""
    copies = column_of(spans, "copies")
    if not any(copies):
        return {}
    size = [sum(copy.byte_size for copy in each) for each in copies]
    took_us = [sum(copy.duration_ns for copy in each) / 1000 for each in copies]
    return {
        "copy_bytes": buffer.add_column(np.array(size), "f8"),
        "copy_us": buffer.add_column(np.array(took_us), "f4"),
    }


def _header(trace: Trace, state: State | None, numbering: Numbering) -> Header:
    run: Header = {
        "id": page_id(trace),
        "title": sendable(trace.title, MAX_TEXT),
        "request_id": sendable(trace.request_id, MAX_TEXT),
        "state": state or state_of(trace),
    }
    if trace.folded:
        # The page cannot count calls without rows.
        run |= {"calls": trace.call_count, "errors": trace.error_count}
        run["folded"] = _folded(trace, numbering)
    if trace.drops:
        run["dropped"] = dropped(trace)
    if trace.is_simulated:
        run["simulated"] = True
    if trace.file:
        run["file"] = sendable(trace.file, MAX_TEXT)
    if trace.file or drop_of(trace, "values"):
        run["lacks"] = sendable(missing_values(trace), MAX_TEXT)
    return {
        "format": FORMAT,
        "run": run,
        # A string, because numbers in JavaScript have 53 bits.
        "start_ns": str(trace.start_ns),
        "n": len(trace.spans),
        "models": list(map(_model, numbering.models.listed())),
    }


def dropped(trace: Trace) -> Header:
    """Return the dropped calls and values of a run, with the limits."""
    return {
        drop.what: {
            "calls": drop.calls,
            "because": because(drop.limit, drop.setting),
            "notice": notice(drop),
            "last": drop.last,
        }
        for drop in trace.drops
    }


def _folded(trace: Trace, numbering: Numbering) -> list[list[Any]]:
    """Return the calls that are only counted: caller, model, sums, times."""
    number = numbering.models.number
    start_ns = trace.start_ns
    return [
        [
            -1 if each.caller is None else number(each.caller),
            number(each.model),
            each.calls,
            each.errors,
            each.duration_ns / 1000,
            (each.first_ns - start_ns) / 1000,
            (each.last_ns - start_ns) / 1000,
            list(map(list, each.latencies)),
        ]
        for each in trace.folded
    ]


def _model(model: ModelInfo | None) -> Header:
    # An unused number; see `Numbers`.
    model = model or _UNKNOWN
    known: Header = {
        "name": sendable(model.name, MAX_TEXT),
        # Unknown in some files; a model that was not found has none.
        "version": model.version if model.version >= 0 else "",
        "backend": model.backend,
        # Only the steps of an ensemble run on a device.
        "device": "" if model.is_ensemble else model.device,
        "kind": model.kind,
    }
    if model.origin is not None:
        known["origin"] = list(model.origin)
    return known


def _sources(
    trace: Trace, spans: Sequence[Span], numbering: Numbering
) -> dict[str, str]:
    numbers = sorted(set(column_of(spans, "model")))
    models = [trace.models[number] for number in numbers]
    return {
        str(numbering.models.number(model)): sendable(model.source, _MAX_SOURCE)
        for model in models
        if model.source
    }
