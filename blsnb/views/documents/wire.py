"""From a trace to what the page reads: a JSON header and columns of numbers.

The twin of js/src/wire.ts; both read the same golden files.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from blsnb.trace.dropped import because, drop_of, missing_values, notice
from blsnb.trace.events import CallFlag, ModelInfo
from blsnb.trace.facts import Batching
from blsnb.trace.spans import Span, Trace
from blsnb.views.columns import PHASES, Columns, columns_of
from blsnb.views.documents import device_rows
from blsnb.views.documents.buffer import Buffer
from blsnb.views.format import sendable

FORMAT = 2
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

_UNKNOWN = ModelInfo("", 0, "", "", "model", "")

T = TypeVar("T", bound=Hashable)
Header = dict[str, Any]
State = Literal["running", "done", "error", "cancelled"]


class Numbers(Generic[T]):
    """Numbers of values, which stay the same while a trace grows or loses calls.

    Safe to use from several threads: a value may cost a number, never share one.
    """

    def __init__(self, *first: T) -> None:
        self._numbers = {value: number for number, value in enumerate(first)}
        self._next = itertools.count(len(first))

    def number(self, value: T) -> int:
        """Return the value's number, a new one for a new value."""
        known = self._numbers.get(value)
        if known is None:
            known = self._numbers.setdefault(value, next(self._next))
        return known

    def listed(self) -> list[T | None]:
        """Return the values, each at the place of its number."""
        numbers = self._numbers.copy()
        values: list[T | None] = [None] * (1 + max(numbers.values(), default=-1))
        for value, number in numbers.items():
            values[number] = value
        return values


class Numbering:
    """Numbers of instance names and models in the messages about one run."""

    def __init__(self) -> None:
        self.instances = Numbers("")
        self.models: Numbers[ModelInfo] = Numbers()

    def of_models(self, trace: Trace) -> list[int]:
        """Return the number of each model of a trace."""
        return [self.models.number(model) for model in trace.models]


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
    numbering: Numbering | None = None,
    notes: Sequence[str] = (),
    height: int = HEIGHT,
    buffer: Buffer | None = None,
) -> tuple[Header, Buffer]:
    """Return a header and a buffer to which previews can still be added.

    Parameters
    ----------
    rows
        Positions of the calls to send; all if None. A column has their ids, unless
        all calls are sent and each id is a position.
    state
        How the run stands, where that is known better than from its calls.
    numbering
        Numbers of models and instances, kept by a sender of a trace in parts.
    notes
        Notes on the whole run; they are shown with its first call.
    height
        Height in pixels that the view had last.
    buffer
        Takes the columns; a new one if None.
    """
    numbered = range(len(trace.spans)) if rows is None else rows
    spans = [trace.spans[row] for row in numbered]
    numbering = numbering or Numbering()
    columns = columns_of(trace, rows)
    buffer = Buffer() if buffer is None else buffer
    placed = _place(columns, trace, spans, numbering, buffer)
    placed |= device_rows.columns(spans, buffer)
    if rows is not None or any(span.id != span.index for span in spans):
        placed["id"] = buffer.add_column(_ids(spans), "i4")
    notes = [*trace.remarks, *notes]
    header = _header(trace, state, numbering) | _texts(trace, spans, notes)
    header["sources"] = _sources(trace, spans, numbering)
    header |= device_rows.tables(spans, trace.start_ns)
    instances = [sendable(name or "", _TEXT) for name in numbering.instances.listed()]
    header |= {"instances": instances, "columns": placed, "ui": {"height": height}}
    return header, buffer


def _ids(spans: Sequence[Span]) -> np.ndarray[Any, Any]:
    return np.fromiter((span.id for span in spans), np.int32, len(spans))


def decode(header: Mapping[str, Any], buffer: bytes) -> dict[str, np.ndarray[Any, Any]]:
    """Return the columns of an encoded trace by name."""
    return {
        name: np.frombuffer(buffer, f"<{dtype}", count, offset)
        for name, (dtype, offset, count) in header["columns"].items()
    }


def _place(
    columns: Columns,
    trace: Trace,
    spans: Sequence[Span],
    numbering: Numbering,
    buffer: Buffer,
) -> dict[str, list[Any]]:
    number = numbering.instances.number
    instance = np.fromiter(
        (number(span.instance) for span in spans), np.uint16, len(spans)
    )
    # Of a call of its own the caller's id; -1 stands last, where -1 leads.
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
    sent = [
        (span.id, (response.ns - span.request_start_ns) / 1000)
        for span in spans
        for response in span.responses
    ]
    response_calls, response_us = np.array(sent, np.float64).reshape(-1, 2).T
    placed["response_call"] = buffer.add_column(response_calls, "i4")
    placed["response_us"] = buffer.add_column(response_us, "f4")
    return placed


def _header(trace: Trace, state: State | None, numbering: Numbering) -> Header:
    run: Header = {
        "id": page_id(trace),
        "title": sendable(trace.title, _TEXT),
        "request_id": sendable(trace.request_id, _TEXT),
        "state": state or state_of(trace),
    }
    if trace.folded:
        # The rows are not all: what the page would count must be told.
        run |= {"calls": trace.call_count, "errors": trace.error_count}
        run["folded"] = _folded(trace, numbering)
    if trace.drops:
        run["dropped"] = dropped(trace)
    if trace.file:
        run["file"] = sendable(trace.file, _TEXT)
    if trace.file or drop_of(trace, "values"):
        run["lacks"] = sendable(missing_values(trace), _TEXT)
    return {
        "format": FORMAT,
        "run": run,
        # A string: JSON numbers hold 53 bits.
        "start_ns": str(trace.start_ns),
        "n": len(trace.spans),
        "models": list(map(_model, numbering.models.listed())),
    }


def dropped(trace: Trace) -> Header:
    """Return what limits have dropped of a run, and why, for the page to show."""
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
    """Return what is known of the calls without rows: caller, model, sums, times."""
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
    # A number that no model has: two threads were about to number the same one.
    model = model or _UNKNOWN
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


def _sources(
    trace: Trace, spans: Sequence[Span], numbering: Numbering
) -> dict[str, str]:
    """Return the sources of the models that these calls ran on."""
    models = [trace.models[number] for number in sorted({span.model for span in spans})]
    return {
        str(numbering.models.number(model)): sendable(model.source, _SOURCE)
        for model in models
        if model.source
    }


def _texts(trace: Trace, spans: Sequence[Span], notes: Sequence[str]) -> Header:
    texts = _Texts(trace.start_ns)
    if notes and trace.spans:
        texts.notes[str(trace.spans[0].id)] = [sendable(note, _TEXT) for note in notes]
    for span in spans:
        texts.add(str(span.id), span)
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
    """Texts of calls by id, within one allowance."""

    def __init__(self, start_ns: int) -> None:
        self._start_ns = start_ns
        self._left = _TEXTS
        self.errors: dict[str, str] = {}
        self.codes: dict[str, str] = {}
        self.notes: dict[str, list[str]] = {}
        self.logs: dict[str, list[list[Any]]] = {}
        self.batching: dict[str, list[list[Any]]] = {}
        self.request_ids: dict[str, str] = {}

    def add(self, call: str, span: Span) -> None:
        if span.error:
            self.errors[call] = self._cut(span.error)
        if span.error_code:
            self.codes[call] = span.error_code
        if span.notes:
            self.notes.setdefault(call, []).extend(map(self._cut, span.notes))
        if span.request_id:
            self.request_ids[call] = sendable(span.request_id, _BEGINNING)
        if span.logs:
            self.logs[call] = self._lines(span)
        if span.batching:
            self.batching[call] = list(map(self._entry, span.batching))

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
