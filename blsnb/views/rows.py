"""Rows of a timeline: the tree of calls, with repeated calls of one model folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from blsnb.trace.alignment import COUNTED
from blsnb.trace.comparison import AnyTrace, TraceComparison, sides
from blsnb.trace.spans import Trace
from blsnb.views.columns import Columns
from blsnb.views.delta import Delta
from blsnb.views.folded import OnlyCounted
from blsnb.views.format import cut

FOLD_FROM = 4
"""Minimum number of calls of one model by one caller that share a row."""
_MAX_NAME = 400


@dataclass(frozen=True, slots=True)
class CallRow:
    """One call, or the calls of one model that share their callers."""

    depth: int
    model: int
    """Index in ``models`` of the trace; of the baseline if the row is missing."""
    calls: tuple[int, ...]
    """In order of their start; calls of the baseline if the row is missing."""
    folded: bool
    missing: bool = False
    """Whether only the baseline has these calls."""
    baseline: tuple[int, ...] = ()
    """The counterparts in the baseline; new calls have none."""
    counted: tuple[int, ...] = ()
    """Calls of the row that the baseline only counts."""
    partial: bool = False
    """Whether one of the runs has further such calls that are only counted. The kept
    calls are then biased: the slowest one is always among them."""

    @property
    def new(self) -> int:
        """Number of its calls that the baseline does not have."""
        beside = len(self.baseline) + len(self.counted)
        return 0 if self.missing else len(self.calls) - beside

    @property
    def is_new(self) -> bool:
        """Whether the baseline has none of its calls."""
        return self.new == len(self.calls)

    def delta(self, this: Columns, before: Columns) -> Delta | None:
        """Return the durations now and before; None if they are not comparable."""
        if not self.baseline or self.partial:
            return None
        return Delta(this.took_us(self.calls), before.took_us(self.baseline))


def rows(run: AnyTrace, fold_from: int = FOLD_FROM) -> Iterator[CallRow]:
    """Yield the rows top to bottom, callees below their callers.

    Calls that only the baseline has are placed by their start.

    Parameters
    ----------
    fold_from
        Minimum number of calls of one model by one caller that become one row. Below
        such a row all callees are folded, since they belong to different callers.
    """
    trace, comparison = sides(run)
    levels = _ComparedLevels(comparison) if comparison else _Levels(trace)
    waiting = levels.top(fold_from)[::-1]
    while waiting:
        row = waiting.pop()
        yield row
        waiting.extend(levels.below(row, 1 if row.folded else fold_from)[::-1])


class _Levels:
    """The levels of a tree of calls."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def top(self, fold_from: int) -> list[CallRow]:
        return _level(self._trace, self._trace.roots, 0, fold_from)

    def below(self, row: CallRow, fold_from: int) -> list[CallRow]:
        made = _children(self._trace, row.calls)
        return _level(self._trace, made, row.depth + 1, fold_from)


class _ComparedLevels:
    """The levels of a comparison: those of the run, with the missing calls."""

    def __init__(self, comparison: TraceComparison) -> None:
        self._this, self._baseline = comparison.this, comparison.baseline
        self._baseline_of = comparison.alignment.baseline_of
        self._missing = frozenset(comparison.alignment.missing)
        self._counted = OnlyCounted(self._this)
        self._counted_before = OnlyCounted(self._baseline)

    def top(self, fold_from: int) -> list[CallRow]:
        return self._level(self._this.roots, self._baseline.roots, 0, fold_from)

    def below(self, row: CallRow, fold_from: int) -> list[CallRow]:
        before = _children(self._baseline, row.baseline)
        made = [] if row.missing else _children(self._this, row.calls)
        return self._level(made, before, row.depth + 1, fold_from)

    def _level(
        self, made: Sequence[int], before: Sequence[int], depth: int, fold_from: int
    ) -> list[CallRow]:
        missing = [call for call in before if call in self._missing]
        found = list(map(self._compared, _level(self._this, made, depth, fold_from)))
        for row in _level(self._baseline, missing, depth, fold_from):
            has_more = row.folded and self._counted_before.more_like(row.calls[0])
            gone = CallRow(
                depth,
                row.model,
                row.calls,
                row.folded,
                missing=True,
                baseline=row.calls,
                partial=has_more,
            )
            at_ns = self._start_ns(gone)
            later = (n for n, each in enumerate(found) if self._start_ns(each) > at_ns)
            found.insert(next(later, len(found)), gone)
        return found

    def _compared(self, row: CallRow) -> CallRow:
        beside = [(call, self._baseline_of[call]) for call in row.calls]
        counted = tuple(call for call, at in beside if at == COUNTED)
        has_more = bool(counted) or self._counted.more_like(row.calls[0])
        return CallRow(
            row.depth,
            row.model,
            row.calls,
            row.folded,
            baseline=tuple(at for _, at in beside if at >= 0),
            counted=counted,
            partial=row.folded and has_more,
        )

    def _start_ns(self, row: CallRow) -> int:
        trace = self._baseline if row.missing else self._this
        return trace.spans[row.calls[0]].request_start_ns - trace.start_ns


def _children(trace: Trace, calls: Sequence[int]) -> list[int]:
    return [child for call in calls for child in trace.children[call]]


def _level(
    trace: Trace, calls: Sequence[int], depth: int, fold_from: int
) -> list[CallRow]:
    """Return the rows of calls whose callers share a row."""
    groups: dict[int, list[int]] = {}
    models = trace.column("model")
    for call in sorted(calls):
        groups.setdefault(models[call], []).append(call)
    found: list[CallRow] = []
    for model, group in groups.items():
        if len(group) >= fold_from:
            found.append(CallRow(depth, model, tuple(group), folded=True))
        else:
            found.extend(CallRow(depth, model, (call,), folded=False) for call in group)
    # Calls are numbered in the order in which they started.
    return sorted(found, key=lambda row: row.calls[0])


def distinct_names(trace: Trace) -> list[str]:
    """Return the models' names, with the version where several share a name."""
    names = [model.name for model in trace.models]
    return [
        cut(model.name, _MAX_NAME)
        + (f" v{model.version}" if names.count(model.name) > 1 else "")
        for model in trace.models
    ]
