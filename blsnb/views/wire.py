"""From a trace to what the page reads: a JSON header and columns of numbers.

The twin of js/src/wire.ts; both read the same golden files.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from blsnb.trace.batching import Batching
from blsnb.trace.events import CallFlag, ModelInfo
from blsnb.trace.spans import Span, Trace
from blsnb.views import device_rows
from blsnb.views.buffer import Buffer
from blsnb.views.columns import PHASES, Columns, columns_of
from blsnb.views.format import sendable

FORMAT = 1
# What a view has at least: one call needs no more. A long one takes what it needs.
HEIGHT = 400
# While a run goes on, nobody knows how much there will be to inspect.
LIVE_HEIGHT = 480
_TEXT = 4096
_SOURCE = 256 << 10
_LOG_LINES = 100
_RUNS = 8
# Of all errors and logs together; beyond it texts are cut to their beginning.
_TEXTS = 512 << 10
_BEGINNING = 200

Header = dict[str, Any]
State = Literal["running", "done", "error", "cancelled"]


class InstanceNames:
    """Numbers of instance names, which stay the same while a trace grows.

    Safe to use from several threads: a name may cost a number, never share one.
    """

    def __init__(self) -> None:
        self._next = itertools.count(1)
        self._numbers = {"": 0}

    def number(self, name: str) -> int:
        """Return the name's number, a new one for a new name."""
        known = self._numbers.get(name)
        if known is None:
            known = self._numbers.setdefault(name, next(self._next))
        return known

    def listed(self) -> list[str]:
        """Return the names, each at the place of its number."""
        numbers = self._numbers.copy()
        names = [""] * (max(numbers.values()) + 1)
        for name, number in numbers.items():
            names[number] = sendable(name, _TEXT)
        return names


def state_of(trace: Trace) -> State:
    """Return how the run stands: ``running``, ``done``, ``error``, ``cancelled``."""
    # Plain integers: the operators of an IntFlag take longer than all the rest.
    if not all(span.request_end_ns for span in trace.spans):
        return "running"
    flags = 0
    for span in trace.spans:
        if span.parent < 0:
            flags |= int(span.flags)
    if flags & int(CallFlag.CANCELLED):
        return "cancelled"
    return "error" if flags & int(CallFlag.ERROR) else "done"


def page_id(trace: Trace) -> str:
    """Return the run's id among all that one page may show.

    Kernels number their runs alike, and a notebook keeps runs of older ones.
    """
    return f"{trace.run_id}-{trace.start_ns:x}"


def encode(
    trace: Trace, rows: Sequence[int] | None = None, **options: Any
) -> tuple[Header, bytes]:
    """Return header and buffer of a trace; options as for `assemble`."""
    header, buffer = assemble(trace, rows, **options)
    return header, bytes(buffer)


def assemble(
    trace: Trace,
    rows: Sequence[int] | None = None,
    *,
    state: State | None = None,
    instances: InstanceNames | None = None,
    notes: Sequence[str] = (),
    height: int = HEIGHT,
    buffer: Buffer | None = None,
) -> tuple[Header, Buffer]:
    """Return a header and a buffer to which previews can still be added.

    Parameters
    ----------
    rows
        Which rows are meant, named by a column of their own; all if None.
    state
        How the run stands, where that is known better than from its calls.
    instances
        Numbers of instance names, kept by whoever sends a trace in parts.
    notes
        Notes on the whole run; they are shown with its first call.
    height
        Height in pixels that the view had last.
    buffer
        Takes the columns; a new one if None.
    """
    numbered = range(len(trace.spans)) if rows is None else rows
    spans = [trace.spans[row] for row in numbered]
    names = instances or InstanceNames()
    columns = columns_of(trace, rows)
    buffer = Buffer() if buffer is None else buffer
    placed = _place(columns, spans, numbered, names, buffer)
    placed |= device_rows.columns(spans, buffer)
    if rows is not None:
        placed["row"] = buffer.add_column(np.array(rows, np.int32), "i4")
    notes = [*trace.remarks, *notes]
    header = _header(trace, state) | _texts(trace, numbered, spans, notes)
    header["sources"] = _sources(trace, spans)
    header |= device_rows.tables(numbered, spans, trace.start_ns)
    header |= {"instances": names.listed(), "columns": placed, "ui": {"height": height}}
    return header, buffer


def decode(header: Mapping[str, Any], buffer: bytes) -> dict[str, np.ndarray[Any, Any]]:
    """Return the columns of an encoded trace by name."""
    return {
        name: np.frombuffer(buffer, f"<{dtype}", count, offset)
        for name, (dtype, offset, count) in header["columns"].items()
    }


def _place(
    columns: Columns,
    spans: Sequence[Span],
    rows: Sequence[int],
    names: InstanceNames,
    buffer: Buffer,
) -> dict[str, list[Any]]:
    instance = np.fromiter(
        (names.number(span.instance) for span in spans), np.uint16, len(spans)
    )
    placed = {
        "parent": buffer.add_column(columns.parent, "i4"),
        "model": buffer.add_column(columns.model, "u2"),
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
    sent = [
        (row, (response.ns - span.request_start_ns) / 1000)
        for row, span in zip(rows, spans, strict=True)
        for response in span.responses
    ]
    response_rows, response_us = np.array(sent, np.float64).reshape(-1, 2).T
    placed["response_row"] = buffer.add_column(response_rows, "i4")
    placed["response_us"] = buffer.add_column(response_us, "f4")
    return placed


def _header(trace: Trace, state: State | None) -> Header:
    run: Header = {
        "id": page_id(trace),
        "title": sendable(trace.title, _TEXT),
        "request_id": sendable(trace.request_id, _TEXT),
        "state": state or state_of(trace),
    }
    if trace.folded:
        # The rows are not all: what the page would count must be told.
        run |= {"calls": trace.call_count, "errors": trace.error_count}
        run["folded"] = _folded(trace)
    if trace.file:
        run["file"] = sendable(trace.file, _TEXT)
    return {
        "format": FORMAT,
        "run": run,
        # A string: JSON numbers hold 53 bits.
        "start_ns": str(trace.start_ns),
        "n": len(trace.spans),
        "models": list(map(_model, trace.models)),
    }


def _folded(trace: Trace) -> list[list[Any]]:
    """Return what is known of the calls without rows: caller, model, sums, times."""
    number: dict[ModelInfo | None, int] = {
        model: place for place, model in enumerate(trace.models)
    }
    number[None] = -1
    start_ns = trace.start_ns
    return [
        [
            number[each.caller],
            number[each.model],
            each.calls,
            each.errors,
            each.duration_ns / 1000,
            (each.first_ns - start_ns) / 1000,
            (each.last_ns - start_ns) / 1000,
            list(map(list, each.latencies)),
        ]
        for each in trace.folded
    ]


def _model(model: ModelInfo) -> Header:
    known: Header = {
        "name": sendable(model.name, _TEXT),
        # A file need not tell it; what was asked for and is not there has none.
        "version": model.version if model.version > 0 else "",
        "backend": model.backend,
        # Its steps have devices, it has none.
        "device": "" if model.is_ensemble else model.device,
        "kind": model.kind,
    }
    if model.origin is not None:
        known["origin"] = list(model.origin)
    return known


def _sources(trace: Trace, spans: Sequence[Span]) -> dict[str, str]:
    """Return the sources of the models that these calls ran on."""
    return {
        str(number): sendable(trace.models[number].source, _SOURCE)
        for number in sorted({span.model for span in spans})
        if trace.models[number].source
    }


def _texts(
    trace: Trace, rows: Sequence[int], spans: Sequence[Span], notes: Sequence[str]
) -> Header:
    texts = _Texts(trace.start_ns)
    if notes and trace.spans:
        texts.notes["0"] = [sendable(note, _TEXT) for note in notes]
    for row, span in zip(rows, spans, strict=True):
        texts.add(str(row), span)
    return {
        "errors": texts.errors,
        "codes": texts.codes,
        "notes": texts.notes,
        "logs": texts.logs,
        "batching": texts.batching,
        "request_ids": texts.request_ids,
        "tensors": {},
    }


class _Texts:
    """What calls say in words, by row, within one allowance."""

    def __init__(self, start_ns: int) -> None:
        self._start_ns = start_ns
        self._left = _TEXTS
        self.errors: dict[str, str] = {}
        self.codes: dict[str, str] = {}
        self.notes: dict[str, list[str]] = {}
        self.logs: dict[str, list[list[Any]]] = {}
        self.batching: dict[str, list[list[Any]]] = {}
        self.request_ids: dict[str, str] = {}

    def add(self, row: str, span: Span) -> None:
        if span.error:
            self.errors[row] = self._cut(span.error)
        if span.error_code:
            self.codes[row] = span.error_code
        if span.notes:
            self.notes.setdefault(row, []).extend(map(self._cut, span.notes))
        if span.request_id:
            self.request_ids[row] = sendable(span.request_id, _BEGINNING)
        if span.logs:
            self.logs[row] = self._lines(span)
        if span.batching:
            self.batching[row] = list(map(self._entry, span.batching))

    def _entry(self, entry: Batching) -> list[Any]:
        runs = list(entry.runs[:_RUNS])
        words = self._cut(entry.words)
        return [entry.execution, entry.joined, entry.cause, words, runs, entry.times]

    def _lines(self, span: Span) -> list[list[Any]]:
        lines = [
            [(line.ns - self._start_ns) / 1000, line.level, self._cut(line.text)]
            for line in span.logs[:_LOG_LINES]
        ]
        left_out = len(span.logs) - len(lines)
        if left_out:
            lines.append([lines[-1][0], "INFO", f"… {left_out:,} more lines"])
        return lines

    def _cut(self, text: str) -> str:
        cut = sendable(text, _TEXT if self._left > 0 else _BEGINNING)
        self._left -= len(cut)
        return cut
