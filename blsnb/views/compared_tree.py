"""A comparison as indented text: for a terminal, a PDF, a diff."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from blsnb.trace.comparison import TraceComparison
from blsnb.views.columns import columns_of
from blsnb.views.compared_facts import counts, told, versus
from blsnb.views.compared_rows import ComparedRow, compared_rows
from blsnb.views.format import TIMES, counted, time, visible
from blsnb.views.rows import distinct_names
from blsnb.views.snapshot import heading, summary

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


class _Lines:
    """The lines of one comparison."""

    def __init__(self, comparison: TraceComparison) -> None:
        self._comparison = comparison
        self._this = columns_of(comparison.this), distinct_names(comparison.this)
        before = comparison.baseline
        self._before = columns_of(before), distinct_names(before)
        unknown = comparison.unknown
        self._unknown_rows = {why: frozenset(rows) for why, rows in unknown.items()}

    def all(self) -> Iterator[str]:
        for compared in compared_rows(self._comparison, fold_from=2):
            yield from self._row(compared)

    def _row(self, compared: ComparedRow) -> Iterator[str]:
        row = compared.row
        columns, names = self._before if compared.missing else self._this
        indent = "  " * (row.depth + 1)
        times = f" {TIMES}{len(row.calls):,}" if len(row.calls) > 1 else ""
        took = columns.took_us(row.calls)
        words = f"{indent}{visible(names[row.model])}{times}  {time(took)}"
        yield f"{words}  {self._beside(compared)}".rstrip()
        if compared.missing:
            return
        yield from (f"{indent}  ~ {line}" for line in self._told(compared))

    def _beside(self, compared: ComparedRow) -> str:
        if compared.missing:
            return "missing"
        delta = compared.delta(self._this[0], self._before[0])
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
