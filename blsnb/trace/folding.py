"""Folding: which calls of a long run are kept one by one, and which are counted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from blsnb.trace.events import Call, ModelInfo

_Pair = tuple[ModelInfo | None, ModelInfo]

_FAILED = 10
"""One part in so many of the room is for failed calls, wherever they happened."""


class FoldedCalls(NamedTuple):
    """Calls of one model by another that are counted, but no longer kept."""

    caller: ModelInfo | None
    """None for requests from outside."""
    model: ModelInfo
    calls: int
    errors: int
    duration_ns: int
    """Of all of them together."""


def fold(calls: list[Call], room: int) -> list[Call]:
    """Take calls out of a list until about so many remain; return those taken.

    The first and the last calls stay. Of those between, failed ones stay while
    there is room, the slowest one of each model and caller, what has not ended,
    and whoever called what stays.

    Parameters
    ----------
    calls
        In the order in which they started; other threads may be adding some.
    """
    head = max(1, room // 2)
    tail = max(head, len(calls) - room // 2)
    middle = calls[head:tail]
    needed = {calls[at].parent for at in range(tail, len(calls))}
    needed.update(_slowest(middle))
    failures = room // _FAILED
    staying, leaving = [], []
    for call in reversed(middle):
        failed = bool(call.error) and failures > 0
        if failed or not call.ended or call in needed:
            needed.add(call.parent)
            failures -= failed
            staying.append(call)
        else:
            leaving.append(call)
    calls[head:tail] = staying[::-1]
    return leaving


def _slowest(calls: Iterable[Call]) -> Iterable[Call]:
    found: dict[_Pair, Call] = {}
    for call in calls:
        pair = pair_of(call)
        known = found.get(pair)
        if known is None or duration_ns(call) > duration_ns(known):
            found[pair] = call
    return found.values()


def pair_of(call: Call) -> _Pair:
    """Return the model that called, and the one that was called."""
    return (None if call.parent is None else call.parent.model), call.model


def duration_ns(call: Call) -> int:
    """Return how long an ended call took."""
    return max(0, call.request_end_ns - call.request_start_ns)


class FoldedCounts:
    """How many calls of a run are no longer kept one by one."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[_Pair, FoldedCalls] = {}

    def add(self, calls: Iterable[Call]) -> None:
        """Count calls that leave."""
        for call in calls:
            pair = pair_of(call)
            known = self._counts.get(pair) or FoldedCalls(*pair, 0, 0, 0)
            self._counts[pair] = FoldedCalls(
                *pair,
                known.calls + 1,
                known.errors + bool(call.error),
                known.duration_ns + duration_ns(call),
            )

    def listed(self) -> tuple[FoldedCalls, ...]:
        """Return the counts by caller and model, in order of their first fold."""
        return tuple(self._counts.values())
