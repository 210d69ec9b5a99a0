"""Alignment: which call of a run was which of an earlier one. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from blsnb.trace.spans import Trace

_Rows = Iterable[int]


@dataclass(frozen=True)
class Alignment:
    """The calls of a trace beside those of its baseline.

    A call is the same call as in the baseline if it is the same one of those that
    the same caller made of the same model: the path of models and occurrences.
    """

    this: Trace
    baseline: Trace
    baseline_of: tuple[int, ...]
    """Of each call its row in the baseline; -1 if it is new."""

    @cached_property
    def missing(self) -> tuple[int, ...]:
        """Rows of the baseline's calls that were not made again."""
        found = set(self.baseline_of)
        return tuple(row for row in range(len(self.baseline.spans)) if row not in found)

    @property
    def new(self) -> tuple[int, ...]:
        """Rows of the calls that the baseline does not have."""
        return tuple(row for row, at in enumerate(self.baseline_of) if at < 0)

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Rows of the calls that both have, here and in the baseline."""
        return tuple((row, at) for row, at in enumerate(self.baseline_of) if at >= 0)


def align(this: Trace, baseline: Trace) -> Alignment:
    """Find each call's counterpart in the baseline."""
    found = [-1] * len(this.spans)
    waiting = [(this.roots, baseline.roots)]
    while waiting:
        here, there = waiting.pop()
        before = _by_model(baseline, there)
        for model, rows in _by_model(this, here).items():
            # Of a model that was called more or less often, the first ones pair up.
            for row, at in zip(rows, before.get(model, ()), strict=False):
                found[row] = at
                waiting.append((this.children[row], baseline.children[at]))
    return Alignment(this, baseline, tuple(found))


def _by_model(trace: Trace, rows: _Rows) -> dict[tuple[str, str], list[int]]:
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in rows:
        model = trace.models[trace.spans[row].model]
        # Versions come and go with edits: the name is what stays.
        groups[model.kind, model.name].append(row)
    return groups
