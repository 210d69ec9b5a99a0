"""Sentences about the batches of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from blsnb.printable import counted, listed
from blsnb.trace.spans import Trace
from blsnb.views.format import TIMES

_MAX_CAUSES = 3


def executions(trace: Trace) -> dict[int, int]:
    """Return the number of executions of each model, by its index.

    Empty if no call shared its ``execute``, or if some calls are only counted.
    """
    if trace.folded or max(trace.column("batch"), default=0) < 2:
        return {}
    pairs = set(zip(trace.column("model"), trace.column("execution"), strict=True))
    return Counter(model for model, execution in pairs if execution)


def batches(trace: Trace, calls: Sequence[int]) -> str:
    """Return the number of executions of a model's calls; "" if none was batched."""
    requests, executions = trace.column("batch"), trace.column("execution")
    most = max((requests[call] for call in calls), default=0)
    if most < 2:
        return ""
    if len(calls) == 1:
        return f"batch of {most:,}"
    return f"in {counted(len({executions[call] for call in calls}), 'execution')}"


def left_out(trace: Trace, calls: Iterable[int]) -> str:
    """Return why calls of a model missed earlier batches; "" if they did not."""
    causes: Counter[str] = Counter()
    batching = trace.column("batching")
    for call in calls:
        for entry in batching[call]:
            if not entry.joined:
                causes[entry.cause] += entry.times
    words = [
        f"{cause} {TIMES}{count:,}" if count > 1 else cause
        for cause, count in causes.most_common()
    ]
    return f"not with a batch before: {listed(words, _MAX_CAUSES)}" if words else ""
