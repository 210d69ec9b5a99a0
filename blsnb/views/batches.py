"""How the calls of a run were batched, in a few words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from blsnb.trace.spans import Span, Trace
from blsnb.views.format import TIMES, counted

_MOST_CAUSES = 3


def executions(trace: Trace) -> dict[int, int]:
    """Return how often each model's ``execute`` was called, by its index.

    Nothing where each call was alone in it, or where calls are only counted.
    """
    if trace.folded or not _is_batched(trace.spans):
        return {}
    pairs = {(span.model, span.execution) for span in trace.spans if span.execution}
    return Counter(model for model, _ in pairs)


def _is_batched(spans: Iterable[Span]) -> bool:
    """Whether one of these calls shared its ``execute`` with another request."""
    return any(span.batch > 1 for span in spans)


def batches(trace: Trace, calls: Iterable[int]) -> str:
    """Say in how many batches calls of one model were; nothing if all were alone."""
    spans = [trace.spans[call] for call in calls]
    if not _is_batched(spans):
        return ""
    if len(spans) == 1:
        return f"batch of {spans[0].batch:,}"
    return f"in {counted(len({span.execution for span in spans}), 'execution')}"


def left_out(trace: Trace, calls: Iterable[int]) -> str:
    """Say why calls of one model were not taken along; nothing if all were."""
    causes: Counter[str] = Counter()
    for call in calls:
        for entry in trace.spans[call].batching:
            if not entry.joined:
                causes[entry.cause] += entry.times
    words = [
        f"{cause} {TIMES}{count:,}" if count > 1 else cause
        for cause, count in causes.most_common(_MOST_CAUSES)
    ]
    more = ", …" if len(causes) > _MOST_CAUSES else ""
    return f"not with a batch before: {', '.join(words)}{more}" if words else ""
