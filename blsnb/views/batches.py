"""Sentences about the batches of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from blsnb.printable import counted
from blsnb.trace.spans import Span, Trace
from blsnb.views.format import TIMES

_MAX_CAUSES = 3


def executions(trace: Trace) -> dict[int, int]:
    """Return the number of executions of each model, by its index.

    Empty if no call shared its ``execute``, or if some calls are only counted.
    """
    if trace.folded or not _is_batched(trace.spans):
        return {}
    pairs = {(span.model, span.execution) for span in trace.spans if span.execution}
    return Counter(model for model, _ in pairs)


def _is_batched(spans: Iterable[Span]) -> bool:
    """Whether any call shared its ``execute`` with another request."""
    return any(span.batch > 1 for span in spans)


def batches(trace: Trace, calls: Iterable[int]) -> str:
    """Return the number of executions of a model's calls; "" if none was batched."""
    spans = [trace.spans[call] for call in calls]
    if not _is_batched(spans):
        return ""
    if len(spans) == 1:
        return f"batch of {spans[0].batch:,}"
    return f"in {counted(len({span.execution for span in spans}), 'execution')}"


def left_out(trace: Trace, calls: Iterable[int]) -> str:
    """Return why calls of a model missed earlier batches; "" if they did not."""
    causes: Counter[str] = Counter()
    for call in calls:
        for entry in trace.spans[call].batching:
            if not entry.joined:
                causes[entry.cause] += entry.times
    words = [
        f"{cause} {TIMES}{count:,}" if count > 1 else cause
        for cause, count in causes.most_common(_MAX_CAUSES)
    ]
    more = ", …" if len(causes) > _MAX_CAUSES else ""
    return f"not with a batch before: {', '.join(words)}{more}" if words else ""
