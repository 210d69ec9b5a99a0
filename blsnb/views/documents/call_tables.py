"""Non-numeric facts of calls by call id: texts, logs, batches, copies."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from blsnb.printable import counted
from blsnb.request_fields import PLAIN, RequestFields
from blsnb.runtimes.runtime import DeviceUse
from blsnb.trace.facts import Batching, Copy
from blsnb.trace.lazy.lazy_rows import column_of
from blsnb.trace.spans import Span, Trace
from blsnb.views.format import sendable

MAX_TEXT = 4096
"""Maximum number of bytes of one text."""
_MAX_TEXTS = 512 << 10
"""Maximum number of bytes of all errors, notes, logs and batches together."""
_BEGINNING = 200
"""Maximum number of bytes of a text beyond that limit, and of a name."""
_MAX_LOG_LINES = 100
_MAX_RUNS = 8
_MAX_COPIES = 100
_MAX_PARAMETERS = 100
_MAX_RESPONSES = 200
"""Maximum number of responses of one call whose parameters are sent."""
_FACTS = (
    *("error", "error_code", "notes", "response_parameters", "responses"),
    *("logs", "batching", "copies", "device_use"),
)
"""Fields of a span that tables have; most calls have none of them."""

Table = dict[str, Any]


def call_tables(trace: Trace, spans: Sequence[Span], notes: Sequence[str]) -> Table:
    """Return tables by name; those of devices only if a device was used.

    Parameters
    ----------
    notes
        Notes on the whole run; they are shown with its first call.
    """
    tables = _Tables(trace.start_ns)
    if notes and trace.spans:
        first = str(trace.spans[0].id)
        tables.notes[first] = [sendable(note, MAX_TEXT) for note in notes]
    for row in _with_facts(spans):
        tables.add(str(spans[row].id), spans[row])
    found: Table = {
        "errors": tables.errors,
        "codes": tables.codes,
        "notes": tables.notes,
        "logs": tables.logs,
        "batching": tables.batching,
        "requests": tables.requests,
        "tensors": {},
    }
    if tables.response_parameters:
        found["response_parameters"] = tables.response_parameters
    if tables.copies:
        found["copies"] = tables.copies
    if tables.device_use:
        found["device_use"] = tables.device_use
    return found


def _with_facts(spans: Sequence[Span]) -> list[int]:
    """Return the positions of the calls that have an entry in any table."""
    found: set[int] = set()
    for name in _FACTS:
        values = enumerate(column_of(spans, name))
        found.update([row for row, value in values if value])
    requests = enumerate(column_of(spans, "request_fields"))
    found.update([row for row, fields in requests if fields != PLAIN])
    return sorted(found)


class _Tables:
    """Tables of calls, whose texts share one budget."""

    def __init__(self, start_ns: int) -> None:
        self._start_ns = start_ns
        self._left = _MAX_TEXTS
        self.errors: dict[str, str] = {}
        self.codes: dict[str, str] = {}
        self.notes: dict[str, list[str]] = {}
        self.logs: dict[str, list[list[Any]]] = {}
        self.batching: dict[str, list[list[Any]]] = {}
        self.requests: dict[str, dict[str, Any]] = {}
        self.response_parameters: dict[str, list[list[Any]]] = {}
        self.copies: dict[str, list[list[Any]]] = {}
        self.device_use: dict[str, list[Any]] = {}

    def add(self, call: str, span: Span) -> None:
        if span.error:
            self.errors[call] = self._cut(span.error)
        if span.error_code:
            self.codes[call] = span.error_code
        if span.notes:
            self.notes.setdefault(call, []).extend(map(self._cut, span.notes))
        if span.request_fields != PLAIN:
            self.requests[call] = self._request(span.request_fields)
        if responses := list(itertools.islice(self._responses(span), _MAX_RESPONSES)):
            self.response_parameters[call] = responses
        if span.logs:
            self.logs[call] = self._lines(span)
        if span.batching:
            self.batching[call] = list(map(self._entry, span.batching))
        if span.copies:
            self.copies[call] = list(map(self._copy, span.copies[:_MAX_COPIES]))
        if span.device_use is not None:
            self.device_use[call] = _use(span.device_use)

    def _request(self, fields: RequestFields) -> dict[str, Any]:
        """Return the fields that a request sets, with their values as text."""
        options = fields.options
        parameters = options.pop("parameters", {})
        known: dict[str, Any] = {
            name: self._cut(str(value) if name == "request_id" else repr(value))
            for name, value in options.items()
        }
        if parameters:
            known["parameters"] = self._parameters(parameters.items())
        return known

    def _responses(self, span: Span) -> Iterator[list[Any]]:
        """Yield number and parameters of each response that has any."""
        if span.response_parameters:
            yield [0, self._parameters(span.response_parameters)]
        for response in span.responses:
            if response.parameters:
                yield [response.number, self._parameters(response.parameters)]

    def _parameters(self, pairs: Iterable[tuple[str, Any]]) -> list[list[str]]:
        some = itertools.islice(pairs, _MAX_PARAMETERS)
        return [[self._cut(name), self._cut(repr(value))] for name, value in some]

    def _entry(self, entry: Batching) -> list[Any]:
        runs = list(entry.runs[:_MAX_RUNS])
        words = self._cut(entry.words)
        return [entry.execution, entry.joined, entry.cause, words, runs, entry.times]

    def _lines(self, span: Span) -> list[list[Any]]:
        lines = [
            [self._us(line.ns), line.level, self._cut(line.text)]
            for line in span.logs[:_MAX_LOG_LINES]
        ]
        left_out = len(span.logs) - len(lines)
        if left_out:
            lines.append([lines[-1][0], "INFO", f"… {counted(left_out, 'more line')}"])
        return lines

    def _copy(self, copy: Copy) -> list[Any]:
        return [
            self._us(copy.ns),
            copy.duration_ns / 1000,
            sendable(copy.tensor, _BEGINNING),
            copy.byte_size,
            copy.source,
            copy.target,
            copy.hostile,
        ]

    def _us(self, ns: int) -> float:
        return (ns - self._start_ns) / 1000

    def _cut(self, text: str) -> str:
        cut = sendable(text, MAX_TEXT if self._left > 0 else _BEGINNING)
        self._left -= len(cut)
        return cut


def _use(use: DeviceUse) -> list[Any]:
    return [use.device, use.compute_ns / 1000, use.in_use_bytes, use.peak_bytes]
