"""A comparison as indented text: for a terminal, a PDF, a diff."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from blsnb.trace.comparison import TraceComparison
from blsnb.views.columns import Columns, columns_of
from blsnb.views.compared_facts import counts, told, versus
from blsnb.views.compared_rows import ComparedRow, compared_rows
from blsnb.views.delta import Delta
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

    def all(self) -> Iterator[str]:
        for compared in compared_rows(self._comparison, fold_from=2):
            yield from self._row(compared)

    def _row(self, compared: ComparedRow) -> Iterator[str]:
        row = compared.row
        columns, names = self._before if compared.missing else self._this
        indent = "  " * (row.depth + 1)
        times = f" {TIMES}{len(row.calls):,}" if len(row.calls) > 1 else ""
        took = _sum(columns, row.calls)
        words = f"{indent}{visible(names[row.model])}{times}  {time(took)}"
        if compared.missing:
            yield f"{words}  missing"
            return
        before = _sum(self._before[0], compared.baseline)
        new = not compared.baseline
        yield f"{words}  {'new' if new else Delta(took, before).words}"
        yield from (f"{indent}  ~ {line}" for line in self._told(compared))

    def _told(self, compared: ComparedRow) -> list[str]:
        changes = self._comparison.changes
        changed = [changes[call] for call in compared.row.calls if call in changes]
        lines = [line for change in changed[:_MOST_TOLD] for line in told(change)]
        new = len(compared.row.calls) - len(compared.baseline)
        if compared.baseline and new:
            lines.insert(0, f"{new:,} of these calls are new")
        shown = lines[:_MOST_TOLD]
        hidden = len(lines) > len(shown) or len(changed) > _MOST_TOLD
        more = f"… and more: {counted(len(changed), 'call')} changed"
        return [*shown, more] if hidden else shown


def _sum(columns: Columns, calls: tuple[int, ...]) -> float:
    return float(columns.duration_us[list(calls)].sum())
