"""Times of the calls of one run, by model, without the cost of a whole trace."""

from __future__ import annotations

from collections.abc import Sequence

from blsnb.evaluation.plain import RowResult
from blsnb.trace.events import Call
from blsnb.trace.run_record import RunRecord


def add_times(result: RowResult, record: RunRecord) -> None:
    """Add the time in queues, and the time and number of calls of each model."""
    calls = record.calls
    covered = _covered_ns(calls) if len(calls) > 1 else {}
    times, counts, queued = result.model_us, result.model_calls, 0
    for call in calls:
        name = call.model.name
        own = call.request_end_ns - call.request_start_ns - covered.get(call.id, 0)
        if call.request_end_ns:
            times[name] = times.get(name, 0.0) + own / 1e3
        counts[name] = counts.get(name, 0) + 1
        if call.queue_start_ns and call.compute_start_ns:
            queued += call.compute_start_ns - call.queue_start_ns
    result.queue_us = queued / 1e3
    if record.gaps is not None:
        _add_folded(result, record)


def _covered_ns(calls: Sequence[Call]) -> dict[int, int]:
    """Return the time of each call during which a child call was running, by id."""
    covered: dict[int, int] = {}
    reached: dict[int, int] = {}
    for call in calls:
        parent = call.parent
        if parent is None or not call.request_end_ns:
            continue
        end = min(call.request_end_ns, parent.request_end_ns or call.request_end_ns)
        start = max(call.request_start_ns, reached.get(parent.id, 0))
        if end > start:
            covered[parent.id] = covered.get(parent.id, 0) + end - start
            reached[parent.id] = end
    return covered


def _add_folded(result: RowResult, record: RunRecord) -> None:
    """Add the calls of a long run that are only counted."""
    times, counts = result.model_us, result.model_calls
    for folded in record.folded.listed():
        name, us = folded.model.name, folded.duration_ns / 1e3
        counts[name] = counts.get(name, 0) + folded.calls
        times[name] = times.get(name, 0.0) + us
        if folded.caller is not None:
            caller = folded.caller.name
            times[caller] = max(0.0, times.get(caller, 0.0) - us)
