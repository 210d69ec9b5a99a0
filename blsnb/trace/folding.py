"""Which calls of a long run are kept, and which are only counted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from blsnb.trace.events import Call, ModelInfo
from blsnb.trace.lazy.call_fields import columns_of

Pair = tuple[ModelInfo | None, ModelInfo]
Array = np.ndarray[Any, Any]

_FAILED = 10
"""Divisor: at most a tenth of the kept calls are failed ones from the middle."""


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


def _slowest(calls: Sequence[Call]) -> Iterable[Call]:
    found: dict[Pair, Call] = {}
    longest: dict[Pair, int] = {}
    for call, (start_ns, end_ns) in zip(calls, _times(calls), strict=True):
        pair, took_ns = pair_of(call), max(0, end_ns - start_ns)
        if took_ns > longest.get(pair, -1):
            found[pair], longest[pair] = call, took_ns
    return found.values()


def _times(calls: Iterable[Call]) -> Iterable[tuple[int, int]]:
    """Return start and end of each call."""
    columns = columns_of(call.numbers for call in calls)
    return zip(columns["request_start_ns"], columns["request_end_ns"], strict=True)


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
        for call, (start_ns, end_ns) in zip(calls, _times(calls), strict=True):
            self.count(pair_of(call), start_ns, end_ns, bool(call.error))

    def count(self, pair: Pair, start_ns: int, end_ns: int, failed: bool) -> None:
        """Count one call."""
        known = self._counts.get(pair)
        if known is None:
            known = self._counts[pair] = _Sum(FoldedCalls(*pair, 0, 0, 0))
        known.add(start_ns, end_ns, failed)

    def count_all(
        self, pair: Pair, start_ns: Array, end_ns: Array, errors: int
    ) -> None:
        """Count calls of a pair at once."""
        known = self._counts.get(pair)
        if known is None:
            known = self._counts[pair] = _Sum(FoldedCalls(*pair, 0, 0, 0))
        known.add_all(start_ns, end_ns, errors)

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

    def add(self, start_ns: int, end_ns: int, failed: bool) -> None:
        duration = max(0, end_ns - start_ns)
        self._first = min(self._first or start_ns, start_ns)
        self._last = max(self._last, end_ns)
        self._calls += 1
        self._errors += failed
        self._duration += duration
        self._took[latency_class(duration)] += 1

    def add_all(self, start_ns: Array, end_ns: Array, errors: int) -> None:
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
