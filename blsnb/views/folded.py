"""Calls that a trace only counts, in words."""

from __future__ import annotations

from collections.abc import Sequence

from blsnb.trace.folding import Pair
from blsnb.trace.spans import Trace
from blsnb.views.format import TIMES, counted, time

_MOST_PAIRS = 5


def folded_note(trace: Trace) -> list[str]:
    """Return a line on the calls that are only counted; none if there are none."""
    if not trace.folded:
        return []
    largest = sorted(trace.folded, key=lambda folded: -folded.calls)
    pairs = [
        f"{_arrow(folded.caller and folded.caller.name, folded.model.name)} "
        f"{TIMES}{folded.calls:,} in {time(folded.duration_ns / 1000)}"
        for folded in largest[:_MOST_PAIRS]
    ]
    if len(largest) > _MOST_PAIRS:
        pairs.append(f"{counted(len(largest) - _MOST_PAIRS, 'further kind')}")
    return [
        f"folded from {counted(trace.call_count, 'call')}: {len(trace.spans):,} are "
        f"kept one by one (the first, the last, failed and slowest ones), the others "
        f"are counted: {'; '.join(pairs)}"
    ]


def stretch(trace: Trace, calls: Sequence[int]) -> tuple[float, float] | None:
    """Return when those ran that are only counted beside these calls of a row.

    None where there are none, or where it is not known that they belong there.
    """
    if not trace.folded or not calls:
        return None
    pair = _pair(trace, calls[0])
    beside = sum(_pair(trace, row) == pair for row in range(len(trace.spans)))
    if beside != len(calls):
        return None
    for each in trace.folded:
        if (each.caller, each.model) == pair and each.last_ns:
            start_ns = trace.start_ns
            return (each.first_ns - start_ns) / 1000, (each.last_ns - start_ns) / 1000
    return None


def _pair(trace: Trace, row: int) -> Pair:
    span = trace.spans[row]
    caller = None if span.parent < 0 else trace.models[trace.spans[span.parent].model]
    return caller, trace.models[span.model]


def _arrow(caller: str | None, model: str) -> str:
    return model if caller is None else f"{caller} → {model}"
