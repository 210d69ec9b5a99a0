"""Rows of a timeline: the tree of calls, with repeated calls of one model folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from blsnb.trace.spans import Trace
from blsnb.views.format import cut

FOLD_FROM = 4
_NAME = 400


@dataclass(frozen=True, slots=True)
class Row:
    """One call, or the calls of one model that share their callers."""

    depth: int
    model: int
    """Index in ``Trace.models``."""
    calls: tuple[int, ...]
    """In order of their start."""
    folded: bool


def rows(trace: Trace, fold_from: int = FOLD_FROM) -> Iterator[Row]:
    """Yield the rows top to bottom, callees below their callers.

    Parameters
    ----------
    fold_from
        How many calls of one model by one caller become one row. Below such a
        row all callees are folded, since they belong to different callers.
    """
    waiting = level(trace, trace.roots, 0, fold_from)[::-1]
    while waiting:
        row = waiting.pop()
        yield row
        below = [child for call in row.calls for child in trace.children[call]]
        least = 1 if row.folded else fold_from
        waiting.extend(level(trace, below, row.depth + 1, least)[::-1])


def level(trace: Trace, calls: Sequence[int], depth: int, fold_from: int) -> list[Row]:
    """Return the rows of calls whose callers share a row."""
    groups: dict[int, list[int]] = {}
    for call in sorted(calls):
        groups.setdefault(trace.spans[call].model, []).append(call)
    found: list[Row] = []
    for model, group in groups.items():
        if len(group) >= fold_from:
            found.append(Row(depth, model, tuple(group), True))
        else:
            found.extend(Row(depth, model, (call,), False) for call in group)
    # Rows are numbered in the order in which calls started.
    return sorted(found, key=lambda row: row.calls[0])


def distinct_names(trace: Trace) -> list[str]:
    """Return the models' names, with the version where the name is not enough."""
    names = [model.name for model in trace.models]
    return [
        f"{cut(model.name, _NAME)} v{model.version}"
        if names.count(model.name) > 1
        else cut(model.name, _NAME)
        for model in trace.models
    ]
