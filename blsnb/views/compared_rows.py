"""Rows of a comparison: those of the run, and between them what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from blsnb.trace.comparison import TraceComparison
from blsnb.trace.spans import Trace
from blsnb.views.rows import FOLD_FROM, Row, level


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """A row, and the calls of the baseline that stand beside it."""

    row: Row
    """Of the run; of the baseline if it is missing."""
    baseline: tuple[int, ...]
    """Rows of the counterparts in the baseline; none for new calls."""
    missing: bool

    @property
    def depth(self) -> int:
        """How many callers it has."""
        return self.row.depth


def compared_rows(
    comparison: TraceComparison, fold_from: int = FOLD_FROM
) -> Iterator[ComparedRow]:
    """Yield the rows top to bottom, missing ones where they once started."""
    rows = _Rows(comparison, fold_from)
    waiting = rows.top()[::-1]
    while waiting:
        row = waiting.pop()
        yield row
        waiting.extend(rows.below(row)[::-1])


class _Rows:
    """The levels of a comparison."""

    def __init__(self, comparison: TraceComparison, fold_from: int) -> None:
        self._this, self._baseline = comparison.this, comparison.baseline
        self._baseline_of = comparison.alignment.baseline_of
        self._missing = frozenset(comparison.alignment.missing)
        self._fold_from = fold_from

    def top(self) -> list[ComparedRow]:
        return self._level(self._this.roots, self._baseline.roots, 0, self._fold_from)

    def below(self, above: ComparedRow) -> list[ComparedRow]:
        row = above.row
        least = 1 if row.folded else self._fold_from
        before = _children(self._baseline, above.baseline)
        made = [] if above.missing else _children(self._this, row.calls)
        return self._level(made, before, row.depth + 1, least)

    def _level(
        self, made: Sequence[int], before: Sequence[int], depth: int, least: int
    ) -> list[ComparedRow]:
        missing = [call for call in before if call in self._missing]
        found = [self._compared(row) for row in level(self._this, made, depth, least)]
        for row in level(self._baseline, missing, depth, least):
            gone = ComparedRow(row, row.calls, missing=True)
            at_ns = self._start_ns(gone)
            later = (n for n, each in enumerate(found) if self._start_ns(each) > at_ns)
            found.insert(next(later, len(found)), gone)
        return found

    def _compared(self, row: Row) -> ComparedRow:
        beside = (self._baseline_of[call] for call in row.calls)
        return ComparedRow(row, tuple(at for at in beside if at >= 0), missing=False)

    def _start_ns(self, row: ComparedRow) -> int:
        trace = self._baseline if row.missing else self._this
        return trace.spans[row.row.calls[0]].request_start_ns - trace.start_ns


def _children(trace: Trace, calls: Sequence[int]) -> list[int]:
    return [child for call in calls for child in trace.children[call]]
