"""A run or a comparison as indented text, for terminals, PDFs and diffs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from blsnb.printable import counted, printable
from blsnb.trace.comparison import AnyTrace, TraceComparison, sides
from blsnb.trace.events import CallFlag
from blsnb.trace.folding import FoldedCalls
from blsnb.trace.spans import Trace
from blsnb.views import batches, requests
from blsnb.views.columns import columns_of
from blsnb.views.folded import OnlyCounted, left_out
from blsnb.views.format import TIMES, time
from blsnb.views.rows import CallRow, distinct_names, rows
from blsnb.views.summary import described, facts, heading, short

_STAND_IN = "stand-in"
"""The only kind of model that is shown after its name."""
_MAX_LINES = 200
_MAX_NAME = 80
_MAX_NOTES = 3
_MAX_NOTE = 240
_MAX_DIFFERENCES = 16


def tree(run: AnyTrace) -> str:
    """Return a line per model and level: name, calls, time.

    Below it are failures, batches and notes. A comparison has both times instead, and
    below them the differences.
    """
    trace, comparison = sides(run)
    lines = _ComparedLines(comparison) if comparison else _Lines(trace)
    found = itertools.chain.from_iterable(map(lines.of, rows(run, fold_from=2)))
    shown = list(itertools.islice(found, _MAX_LINES))
    more = sum(1 for _ in found)
    if more:
        shown.append(f"  … {counted(more, 'more line')}")
    title = f"{printable(heading(trace))}: {', '.join(facts(run))}"
    if comparison:
        return "\n".join([title, *shown])
    notes = [f"  … {printable(note)}" for note in left_out(trace)]
    remarks = [f"  · {printable(remark)}" for remark in trace.remarks]
    return "\n".join([title, *shown, *notes, *remarks])


class _Lines:
    """The lines of a run without a baseline."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._side = _Side(trace)

    def of(self, row: CallRow) -> Iterator[str]:
        """Yield the line of a row, and those below it."""
        trace, calls, indent = self._trace, row.calls, _indent(row)
        failed = [call for call in calls if self._side.failed[call]]
        counted_only = self._side.counted_only(calls)
        words = [self._side.words(row, counted_only)]
        together = batches.batches(trace, calls)
        words += [together] if together else []
        if failed:
            errors = len(failed) + (counted_only.errors if counted_only else 0)
            words.append(f"{errors:,} failed")
        yield indent + "  ".join(words)
        if failed:
            first = trace.spans[failed[0]]
            yield f"{indent}  ! {short(first.error) or first.error_code or 'failed'}"
        yield from (f"{indent}  {line}" for line in requests.lines(trace, calls))
        yield from (f"{indent}  {note}" for note in _notes(trace, calls))
        waited = batches.left_out(trace, calls)
        if waited:
            yield f"{indent}  ~ {waited}"


class _ComparedLines:
    """The lines of a comparison."""

    def __init__(self, comparison: TraceComparison) -> None:
        self._comparison = comparison
        self._this = _Side(comparison.this)
        self._before = _Side(comparison.baseline)

    def of(self, row: CallRow) -> Iterator[str]:
        """Yield the line of a row, and its differences below it."""
        side = self._before if row.missing else self._this
        counted_only = side.counted_only(row.calls) if row.folded else None
        words = side.words(row, counted_only)
        line = f"{_indent(row)}{words}  {self._beside(row)}"
        yield line.rstrip()
        if not row.missing:
            below = [*self._differences(row), *self._unknown(row)]
            yield from (f"{_indent(row)}  ~ {each}" for each in below)

    def _beside(self, row: CallRow) -> str:
        if row.missing:
            return "missing"
        delta = row.delta(self._this.columns, self._before.columns)
        if delta is not None:
            return delta.words
        return "new" if row.is_new else ""

    def _differences(self, row: CallRow) -> list[str]:
        changes = self._comparison.changes
        changed = [changes[call] for call in row.calls if call in changes]
        lines = []
        if 0 < row.new < len(row.calls):
            which = "the kept" if self._this.counted_only(row.calls) else "these"
            lines.append(f"{row.new:,} of {which} calls are new")
        if row.counted:
            known = f"{len(row.counted):,} of these calls are"
            lines.append(f"{known} only counted in the baseline")
        for change in changed[:_MAX_DIFFERENCES]:
            lines += described(change)
        shown = lines[:_MAX_DIFFERENCES]
        if len(lines) > len(shown) or len(changed) > _MAX_DIFFERENCES:
            shown.append(f"… and more: {counted(len(changed), 'call')} changed")
        return shown

    def _unknown(self, row: CallRow) -> Iterator[str]:
        """Yield the reasons why calls of a row were not compared."""
        for why, unknown in self._comparison.unknown.items():
            number = len(set(row.calls).intersection(unknown))
            if number:
                subject = "" if len(row.calls) == 1 else f"{counted(number, 'call')} "
                yield f"{subject}not compared: {why}"


class _Side:
    """Names and sums of the rows of one trace."""

    def __init__(self, trace: Trace) -> None:
        self.columns = columns_of(trace)
        self.failed = self.columns.has(CallFlag.ERROR)
        self.counted_only = OnlyCounted(trace).beside
        self._names = [
            short(name, _MAX_NAME)
            + (f" ({_STAND_IN})" if model.kind == _STAND_IN else "")
            for name, model in zip(distinct_names(trace), trace.models, strict=True)
        ]

    def words(self, row: CallRow, counted_only: FoldedCalls | None) -> str:
        """Return the model, its number of calls, and their time.

        Parameters
        ----------
        counted_only
            Calls of the row that the trace only counts.
        """
        calls, took_us = len(row.calls), self.columns.took_us(row.calls)
        # How many missing calls a partial row has in all is unknown.
        is_known = bool(counted_only) or not (row.missing and row.partial)
        kept = f"  {calls:,} kept" if counted_only or not is_known else ""
        if counted_only:
            calls += counted_only.calls
            took_us += counted_only.duration_ns / 1000
        times = f" {TIMES}{calls:,}" if is_known and calls > 1 else ""
        return f"{self._names[row.model]}{times}  {time(took_us)}{kept}"


def _indent(row: CallRow) -> str:
    return "  " * (row.depth + 1)


def _notes(trace: Trace, calls: Sequence[int]) -> list[str]:
    """Return the first notes of a row's calls, each once, and the number of others."""
    notes = trace.column("notes")
    texts = dict.fromkeys(note for call in calls for note in notes[call])
    begun = (text[: _MAX_NOTE + 1] for text in texts)
    lines = ("; ".join(map(str.strip, text.splitlines())) for text in begun)
    shown = [f"* {short(text, _MAX_NOTE)}" for text in lines][:_MAX_NOTES]
    hidden = len(texts) - len(shown)
    return [*shown, f"* … {counted(hidden, 'more note')}"] if hidden else shown
