"""A comparison as indented text: for a terminal, a PDF, a diff."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from blsnb.trace.comparison import TraceComparison
from blsnb.trace.spans import Trace
from blsnb.views.columns import columns_of
from blsnb.views.compared_rows import ComparedRow, compared_rows
from blsnb.views.folded import OnlyCounted
from blsnb.views.format import TIMES, counted, time, visible
from blsnb.views.pictures.snapshot import heading, summary
from blsnb.views.rows import Row, distinct_names
from blsnb.views.summary import counts, told, versus

_MOST_LINES = 200
_MOST_TOLD = 5


def compared_tree(comparison: TraceComparison) -> str:
    """Return a line per model and level with both times, and what differs."""
    this = comparison.this
    facts = [*summary(this, columns_of(this)), versus(comparison), *counts(comparison)]
    found = _Lines(comparison).all()
    shown = list(itertools.islice(found, _MOST_LINES))
    left_out = sum(1 for _ in found)
    if left_out:
        shown.append(f"  … {counted(left_out, 'more line')}")
    return "\n".join([f"{visible(heading(this))}: {', '.join(facts)}", *shown])


class _Side:
    """What is told of one of the two runs."""

    def __init__(self, trace: Trace) -> None:
        self.columns = columns_of(trace)
        self._names = distinct_names(trace)
        self._counted = OnlyCounted(trace)

    def words(self, row: Row) -> str:
        """Return the model, how often it was called, and how long that took."""
        gone = self._counted.beside(row.calls) if row.folded else None
        calls = len(row.calls) + (gone.calls if gone else 0)
        took_us = self.columns.took_us(row.calls)
        took_us += gone.duration_ns / 1000 if gone else 0
        times = f" {TIMES}{calls:,}" if calls > 1 else ""
        kept = f"  {len(row.calls):,} kept" if gone else ""
        return f"{visible(self._names[row.model])}{times}  {time(took_us)}{kept}"


class _Lines:
    """The lines of one comparison."""

    def __init__(self, comparison: TraceComparison) -> None:
        self._comparison = comparison
        self._this = _Side(comparison.this)
        self._before = _Side(comparison.baseline)
        unknown = comparison.unknown
        self._unknown_rows = {why: frozenset(rows) for why, rows in unknown.items()}

    def all(self) -> Iterator[str]:
        for compared in compared_rows(self._comparison, fold_from=2):
            yield from self._row(compared)

    def _row(self, compared: ComparedRow) -> Iterator[str]:
        side = self._before if compared.missing else self._this
        indent = "  " * (compared.depth + 1)
        words = f"{indent}{side.words(compared.row)}"
        yield f"{words}  {self._beside(compared)}".rstrip()
        if compared.missing:
            return
        yield from (f"{indent}  ~ {line}" for line in self._told(compared))

    def _beside(self, compared: ComparedRow) -> str:
        if compared.missing:
            return "missing"
        delta = compared.delta(self._this.columns, self._before.columns)
        if delta is not None:
            return delta.words
        return "new" if compared.is_new else ""

    def _told(self, compared: ComparedRow) -> list[str]:
        changes = self._comparison.changes
        changed = [changes[call] for call in compared.row.calls if call in changes]
        lines = [line for change in changed[:_MOST_TOLD] for line in told(change)]
        if compared.counted:
            known = f"{len(compared.counted):,} of these calls are"
            lines.insert(0, f"{known} only counted in the baseline")
        if compared.new and compared.new < len(compared.row.calls):
            lines.insert(0, f"{compared.new:,} of these calls are new")
        shown = lines[:_MOST_TOLD]
        hidden = len(lines) > len(shown) or len(changed) > _MOST_TOLD
        more = [f"… and more: {counted(len(changed), 'call')} changed"] * hidden
        return [*shown, *more, *self._unknown(compared)]

    def _unknown(self, compared: ComparedRow) -> Iterator[str]:
        """Yield why calls of a row were not compared."""
        calls = set(compared.row.calls)
        for why, rows in self._unknown_rows.items():
            number = len(calls & rows)
            if number:
                whose = "" if len(calls) == 1 else f"{counted(number, 'call')} "
                yield f"{whose}not compared: {why}"
