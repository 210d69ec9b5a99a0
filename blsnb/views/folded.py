"""Calls that a trace only counts, in words."""

from __future__ import annotations

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


def _arrow(caller: str | None, model: str) -> str:
    return model if caller is None else f"{caller} → {model}"
