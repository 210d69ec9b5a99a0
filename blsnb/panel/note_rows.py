"""Rows of the notes about recorded runs."""

from __future__ import annotations

import time
from collections.abc import Callable

from blsnb.options import options
from blsnb.panel.changes import Row
from blsnb.panel.run_rows import page_id_of
from blsnb.results.traced import take_trace
from blsnb.trace.run_record import RunRecord
from blsnb.views.format import sendable

_LOOK_NS = 5_000_000
"""Time per reading in which further runs are begun, in nanoseconds."""
_REVIEWED_CALLS = 2000
"""Maximum number of calls of a run that is reviewed; others show the notes that were
made while they ran."""
_MAX_NOTES = 100
"""Maximum number of notes of a run."""
_MAX_TEXT = 2000
"""Maximum number of bytes of a note."""


class NoteRows:
    """Reads the notes of ended runs, each run once.

    Parameters
    ----------
    clock
        Returns a monotonic time in nanoseconds.
    """

    def __init__(self, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._clock = clock
        self._known: dict[str, list[Row]] = {}

    def read(self, records: list[RunRecord]) -> dict[str, Row]:
        """Return a row for each note, by key; some runs may be read later."""
        ended = {page_id_of(each): each for each in records if each.ended}
        known = {name: self._known[name] for name in ended if name in self._known}
        end_ns = self._clock() + _LOOK_NS
        for name in reversed(ended):
            if name in known or not name:
                continue
            if self._clock() >= end_ns:
                break
            known[name] = _rows(name, ended[name])
        self._known = known
        rows = [row for name in ended for row in known.get(name, ())]
        return {row["key"]: row for row in rows}


def _rows(name: str, record: RunRecord) -> list[Row]:
    shown = {"run": name, "id": record.id}
    return [
        shown
        | {"key": f"{name}#{number}", "model": model, "call": call, "times": times}
        | {"text": sendable(text, _MAX_TEXT)}
        for number, (call, model, text, times) in enumerate(_notes(record))
    ]


def _notes(record: RunRecord) -> list[tuple[int, str, str, int]]:
    """Return the first call, the model, the text and the number of equal notes."""
    found: dict[tuple[str, str], list[int]] = {}
    for call, model, text in _all_notes(record):
        found.setdefault((model, text), []).append(call)
    notes = [(ids[0], *key, len(ids)) for key, ids in found.items()]
    return notes[:_MAX_NOTES]


def _all_notes(record: RunRecord) -> list[tuple[int, str, str]]:
    if not options.notes:
        return []
    if len(record.calls) > _REVIEWED_CALLS:
        calls = [each for each in list(record.calls) if each.notes]
        return [(c.id, c.model.name, text) for c in calls for text in c.notes or ()]
    trace = take_trace(record)
    return [
        (span.id, trace.models[span.model].name, text)
        for span in trace.spans
        for text in span.notes
    ]
