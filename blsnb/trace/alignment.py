"""Alignment: which call of a run was which of an earlier one. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from blsnb.trace.gaps import Numbered
from blsnb.trace.spans import Trace

NEW = -1
"""The baseline has no such call."""
COUNTED = -2
"""The baseline has it, but only among those that are counted."""
_NONE = Numbered({}, 0)


@dataclass(frozen=True)
class Alignment:
    """The calls of a trace beside those of its baseline.

    A call is the same call as in the baseline if it is the same one of those that
    the same caller made of the same model: the path of models and occurrences.
    """

    this: Trace
    baseline: Trace
    baseline_of: tuple[int, ...]
    """Of each call its row in the baseline; `NEW` or `COUNTED` if it has none."""
    missing: tuple[int, ...]
    """Rows of the baseline's calls that were not made again. Those that this run has
    only counted are not among them."""

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
        """Rows of the calls that both have, here and in the baseline."""
        return tuple((row, at) for row, at in enumerate(self.baseline_of) if at >= 0)

    def _that_are(self, what: int) -> tuple[int, ...]:
        return tuple(row for row, at in enumerate(self.baseline_of) if at == what)


def align(this: Trace, baseline: Trace) -> Alignment:
    """Find each call's counterpart in the baseline."""
    found, back = [NEW] * len(this.spans), [NEW] * len(baseline.spans)
    waiting = [(-1, -1)]
    while waiting:
        caller, beside = waiting.pop()
        here, there = this.calls_by(caller), baseline.calls_by(beside)
        # Of a model that was called more or less often, the first ones pair up.
        for name in dict.fromkeys([*here, *there]):
            mine, theirs = here.get(name, _NONE), there.get(name, _NONE)
            _pair(mine, theirs, found)
            _pair(theirs, mine, back)
            paired = mine.rows.keys() & theirs.rows.keys()
            waiting += [(mine.rows[each], theirs.rows[each]) for each in paired]
    _inherit(this, found)
    _inherit(baseline, back)
    missing = tuple(row for row, at in enumerate(back) if at == NEW)
    return Alignment(this, baseline, tuple(found), missing)


def _pair(mine: Numbered, theirs: Numbered, found: list[int]) -> None:
    """Note the counterparts of calls of one model by one caller."""
    for number, row in mine.rows.items():
        unpaired = COUNTED if number < theirs.total else NEW
        found[row] = theirs.rows.get(number, unpaired)


def _inherit(trace: Trace, found: list[int]) -> None:
    """Note that of a call that is only counted nobody knows what it called."""
    for span in trace.spans:
        if span.parent >= 0 and found[span.parent] == COUNTED:
            found[span.index] = COUNTED
