"""A trace beside an earlier one, its baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from blsnb.trace.alignment import Alignment, align
from blsnb.trace.changes import CallChange, change_of
from blsnb.trace.excerpt import page_excerpt
from blsnb.trace.spans import Trace


@dataclass(frozen=True)
class TraceComparison:
    """The calls that two traces share, and their differences."""

    alignment: Alignment
    changes: Mapping[int, CallChange]
    """Changes by position, without calls that are unchanged as far as known."""
    unknown: Mapping[str, tuple[int, ...]]
    """Positions of shared calls that were not compared in full, by reason."""

    @cached_property
    def page_part(self) -> TraceComparison:
        """The part that a page can hold: all of it unless a trace is very long."""
        this, baseline = page_excerpt(self.this), page_excerpt(self.baseline)
        if this is self.this and baseline is self.baseline:
            return self
        return compare(this, baseline)

    @property
    def this(self) -> Trace:
        """The trace that is compared."""
        return self.alignment.this

    @property
    def baseline(self) -> Trace:
        """The trace that it is compared with."""
        return self.alignment.baseline


AnyTrace = Trace | TraceComparison
"""A trace, alone or beside a baseline."""


def sides(run: AnyTrace) -> tuple[Trace, TraceComparison | None]:
    """Return the viewed trace, and its comparison if it has a baseline."""
    return (run, None) if isinstance(run, Trace) else (run.this, run)


def page_part(run: AnyTrace) -> AnyTrace:
    """Return the part of a run that a page can hold: all of it unless very long."""
    return page_excerpt(run) if isinstance(run, Trace) else run.page_part


def compare(this: Trace, baseline: Trace) -> TraceComparison:
    """Compare a trace with an earlier one; values are compared where both have them."""
    alignment = align(this, baseline)
    found = {pair[0]: change_of(alignment, *pair) for pair in alignment.pairs}
    unknown: dict[str, list[int]] = {}
    for row, change in found.items():
        if change.unknown:
            unknown.setdefault(change.unknown, []).append(row)
    return TraceComparison(
        alignment,
        {row: change for row, change in found.items() if change},
        {why: tuple(rows) for why, rows in unknown.items()},
    )
