"""Pairing of the calls of a run with those of its baseline. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from blsnb.trace.gaps import Numbered
from blsnb.trace.spans import Trace

NEW = -1
"""The baseline has no such call."""
COUNTED = -2
"""The baseline has the call, but only counts it."""
_NONE = Numbered({}, 0)


@dataclass(frozen=True)
class Alignment:
    """The calls of a trace paired with those of its baseline.

    Two calls are paired if their callers are, and if both are the n-th call of the same
    model by that caller.
    """

    this: Trace
    baseline: Trace
    baseline_of: tuple[int, ...]
    """Row of each call in the baseline, or `NEW` or `COUNTED`."""
    missing: tuple[int, ...]
    """Rows of the baseline's calls that this run does not have, not even counted."""
    new_count: int
    """Number of calls that the baseline does not have, with those only counted here."""
    missing_count: int
    """Number of calls that only the baseline has, with those it only counts."""

    @property
    def new(self) -> tuple[int, ...]:
        """Rows of the calls that the baseline does not have."""
        return self._that_are(NEW)

    @cached_property
    def counted(self) -> tuple[int, ...]:
        """Rows of the calls that the baseline only counts."""
        return self._that_are(COUNTED)

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Rows of the calls that both have, in the trace and in the baseline."""
        return tuple((row, at) for row, at in enumerate(self.baseline_of) if at >= 0)

    def _that_are(self, what: int) -> tuple[int, ...]:
        return tuple(row for row, at in enumerate(self.baseline_of) if at == what)


def align(this: Trace, baseline: Trace) -> Alignment:
    """Pair the calls of a trace with those of its baseline."""
    found, back = [NEW] * len(this.spans), [NEW] * len(baseline.spans)
    new_count = missing_count = 0
    waiting = [(-1, -1)]
    while waiting:
        caller, beside = waiting.pop()
        here, there = this.calls_by(caller), baseline.calls_by(beside)
        # The first calls of a model are paired, however often it was called.
        for name in dict.fromkeys([*here, *there]):
            mine, theirs = here.get(name, _NONE), there.get(name, _NONE)
            _pair(mine, theirs, found)
            _pair(theirs, mine, back)
            new_count += max(0, mine.total - theirs.total)
            missing_count += max(0, theirs.total - mine.total)
            paired = mine.rows.keys() & theirs.rows.keys()
            waiting += [(mine.rows[each], theirs.rows[each]) for each in paired]
    _inherit(this, found)
    _inherit(baseline, back)
    missing = tuple(row for row, at in enumerate(back) if at == NEW)
    new_count += _below_unpaired(this, found)
    missing_count += _below_unpaired(baseline, back)
    return Alignment(this, baseline, tuple(found), missing, new_count, missing_count)


def _pair(mine: Numbered, theirs: Numbered, found: list[int]) -> None:
    """Set the counterparts of the calls of one model by one caller."""
    for number, row in mine.rows.items():
        unpaired = COUNTED if number < theirs.total else NEW
        found[row] = theirs.rows.get(number, unpaired)


def _inherit(trace: Trace, found: list[int]) -> None:
    """Set `COUNTED` for calls whose caller's counterpart is only counted."""
    for span in trace.spans:
        if span.parent >= 0 and found[span.parent] == COUNTED:
            found[span.index] = COUNTED


def _below_unpaired(trace: Trace, found: Sequence[int]) -> int:
    """Return the number of calls whose callers have no counterpart."""
    unpaired = {row for row, at in enumerate(found) if at == NEW}
    kept = sum(caller in unpaired for caller in trace.column("parent"))
    return kept + sum(gap.calls for gap in trace.gaps if gap.caller in unpaired)
