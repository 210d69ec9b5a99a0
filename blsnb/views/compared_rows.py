"""Rows of a comparison: those of the run, and between them what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from blsnb.trace.alignment import COUNTED
from blsnb.trace.comparison import TraceComparison
from blsnb.trace.spans import Trace
from blsnb.views.columns import Columns
from blsnb.views.delta import Delta
from blsnb.views.folded import OnlyCounted
from blsnb.views.rows import FOLD_FROM, Row, level


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """A row, and the calls of the baseline that stand beside it."""

    row: Row
    """Of the run; of the baseline if it is missing."""
    baseline: tuple[int, ...]
    """Rows of the counterparts in the baseline; none for new calls."""
    missing: bool
    counted: tuple[int, ...] = ()
    """Those of its calls that the baseline only counts."""
    partial: bool = False
    """Whether there are more such calls in one of the runs, which are only counted:
    those that are kept are no sample of them, since the slowest one is among them."""

    @property
    def new(self) -> int:
        """How many of its calls the baseline does not have."""
        beside = len(self.baseline) + len(self.counted)
        return 0 if self.missing else len(self.row.calls) - beside

    @property
    def is_new(self) -> bool:
        """Whether the baseline has none of its calls."""
        return not (self.missing or self.baseline or self.counted)

    def delta(self, this: Columns, before: Columns) -> Delta | None:
        """Return what its calls took now and before; None where that says nothing."""
        if not self.baseline or self.partial:
            return None
        return Delta(this.took_us(self.row.calls), before.took_us(self.baseline))

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
        self._counted = OnlyCounted(self._this)

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
        beside = [(call, self._baseline_of[call]) for call in row.calls]
        baseline = tuple(at for _, at in beside if at >= 0)
        counted = tuple(call for call, at in beside if at == COUNTED)
        partial = row.folded and (
            bool(counted) or self._counted.more_like(row.calls[0])
        )
        return ComparedRow(row, baseline, False, counted, partial)

    def _start_ns(self, row: ComparedRow) -> int:
        trace = self._baseline if row.missing else self._this
        return trace.spans[row.row.calls[0]].request_start_ns - trace.start_ns


def _children(trace: Trace, calls: Sequence[int]) -> list[int]:
    return [child for call in calls for child in trace.children[call]]
