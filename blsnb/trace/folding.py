"""Which calls of a long run are kept, and which are only counted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from blsnb.trace.events import Call, ModelInfo
from blsnb.trace.lazy.call_fields import arrays_of

Pair = tuple[ModelInfo | None, ModelInfo]
Array = np.ndarray[Any, Any]

FAILED_DIVISOR = 10
"""At most a tenth of the kept calls are failed ones from the middle."""


class FoldedCalls(NamedTuple):
    """Counts of calls of one model by another that are no longer kept."""

    caller: ModelInfo | None
    """None for client requests."""
    model: ModelInfo
    calls: int
    errors: int
    duration_ns: int
    """Total duration."""
    first_ns: int = 0
    """Start of the first call."""
    last_ns: int = 0
    """End of the last call."""
    latencies: tuple[tuple[int, int], ...] = ()
    """Number of calls for each `latency_class`."""


_CLASSES = 8
"""Number of latency classes for each doubling; each is 9 % wide."""


def latency_class(duration_ns: int) -> int:
    """Return the class of a latency; class ``k`` begins at ``2 ** (k / 8)`` ns."""
    return int(_CLASSES * math.log2(duration_ns)) if duration_ns > 1 else 0


def fold(calls: list[Call], room: int) -> list[Call]:
    """Remove calls from a list until about ``room`` remain; return the removed ones.

    The first and last calls stay. Between them failed calls stay while there is room,
    the slowest call of each model and caller, running calls, and all callers of those.

    Parameters
    ----------
    calls
        In the order of their starts; other threads may append calls concurrently.
    """
    head = max(1, room // 2)
    tail = max(head, len(calls) - room // 2)
    middle = calls[head:tail]
    needed = {call.parent for call in calls[tail:]}
    needed.update(_slowest(middle))
    failures = room // FAILED_DIVISOR
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


def _slowest(calls: Sequence[Call]) -> list[Call]:
    start_ns, end_ns = _times(calls)
    took_ns = np.maximum(0, end_ns - start_ns)
    return [calls[at[took_ns[at].argmax()]] for at in _by_pair(calls).values()]


def _times(calls: Iterable[Call]) -> tuple[Array, Array]:
    columns = arrays_of(call.numbers for call in calls)
    return columns["request_start_ns"], columns["request_end_ns"]


def _by_pair(calls: Iterable[Call]) -> dict[Pair, list[int]]:
    """Return the places of calls by the models of caller and call."""
    found: dict[Pair, list[int]] = {}
    for place, call in enumerate(calls):
        found.setdefault(pair_of(call), []).append(place)
    return found


def pair_of(call: Call) -> Pair:
    """Return the models of the caller and of the call."""
    return (None if call.parent is None else call.parent.model), call.model


class FoldedCounts:
    """Counts of the calls of a run that are no longer kept."""

    __slots__ = ("_counts",)

    def __init__(self, known: Iterable[FoldedCalls] = ()) -> None:
        self._counts = {(each.caller, each.model): _Sum(each) for each in known}

    def add(self, calls: Sequence[Call]) -> None:
        """Count removed calls."""
        start_ns, end_ns = _times(calls)
        for pair, at in _by_pair(calls).items():
            errors = sum(bool(calls[place].error) for place in at)
            self.count(pair, start_ns[at], end_ns[at], errors)

    def count(self, pair: Pair, start_ns: Array, end_ns: Array, errors: int) -> None:
        """Count calls of a pair at once."""
        known = self._counts.get(pair)
        if known is None:
            known = self._counts[pair] = _Sum(FoldedCalls(*pair, 0, 0, 0))
        known.add(start_ns, end_ns, errors)

    def listed(self) -> tuple[FoldedCalls, ...]:
        """Return the counts by caller and model, in order of first appearance."""
        # A copy, because another thread may fold calls concurrently.
        return tuple(known.listed() for known in list(self._counts.values()))


class _Sum:
    """Mutable counts of one caller and model."""

    __slots__ = ("_calls", "_duration", "_errors", "_first", "_last", "_pair", "_took")

    def __init__(self, known: FoldedCalls) -> None:
        self._pair = known.caller, known.model
        self._calls, self._errors = known.calls, known.errors
        self._duration = known.duration_ns
        self._first, self._last = known.first_ns, known.last_ns
        self._took = Counter(dict(known.latencies))

    def add(self, start_ns: Array, end_ns: Array, errors: int) -> None:
        durations = np.maximum(0, end_ns - start_ns)
        first = int(start_ns.min())
        self._first = min(self._first or first, first)
        self._last = max(self._last, int(end_ns.max()))
        self._calls += len(durations)
        self._errors += errors
        self._duration += int(durations.sum())
        distinct, counts = np.unique(durations, return_counts=True)
        for duration, calls in zip(distinct.tolist(), counts.tolist(), strict=True):
            self._took[latency_class(duration)] += calls

    def listed(self) -> FoldedCalls:
        return FoldedCalls(
            *self._pair,
            self._calls,
            self._errors,
            self._duration,
            self._first,
            self._last,
            tuple(sorted(self._took.copy().items())),
        )
