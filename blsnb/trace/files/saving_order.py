"""Which tensor values of a run go into a file first."""

from __future__ import annotations

from blsnb.trace.events import CallFlag
from blsnb.trace.spans import Trace

_ERROR = int(CallFlag.ERROR)


def saving_order(trace: Trace) -> list[int]:
    """Return all rows, those first whose values matter most.

    Failed calls, client requests, the slowest call of each model, the first call of
    each model by each caller; then the others in order of start.
    """
    failed = [span.index for span in trace.spans if int(span.flags) & _ERROR]
    slowest: dict[int, tuple[int, int]] = {}
    first: dict[tuple[int, int], int] = {}
    for span in trace.spans:
        duration = (span.duration_ns, -span.index)
        slowest[span.model] = max(slowest.get(span.model, duration), duration)
        first.setdefault((span.parent, span.model), span.index)
    slow = [-row for _, row in slowest.values()]
    rows = [*failed, *trace.roots, *slow, *first.values(), *range(len(trace.spans))]
    return list(dict.fromkeys(rows))
