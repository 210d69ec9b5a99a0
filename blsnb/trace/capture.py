"""Traces made of recorded calls, and the time of day of their clock."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter

from blsnb.clock.pausing_clock import CLOCK
from blsnb.trace.dropped import drops_of
from blsnb.trace.events import Call
from blsnb.trace.facts import ClockReading
from blsnb.trace.folding import FoldedCalls
from blsnb.trace.gaps import Gaps
from blsnb.trace.lazy.call_columns import distinct, read_started, spans_of
from blsnb.trace.review import reviewed
from blsnb.trace.run_record import RunRecord
from blsnb.trace.spans import Trace

_ID = attrgetter("id")
_READING = ClockReading(time.monotonic_ns(), time.time_ns())
"""Offset between monotonic time and time of day. It is read once, so that saving a run
twice writes the same file."""


def clock_of(trace: Trace) -> ClockReading:
    """Return a reading that fits the times of a trace, after pauses before it."""
    paused_ns = CLOCK.paused_before_ns(trace.start_ns) if trace.spans else 0
    return _READING._replace(unix_ns=_READING.unix_ns + paused_ns)


def known_clock(trace: Trace) -> ClockReading | None:
    """Return the reading of a trace; None for a file without the time of day."""
    return trace.clock or (None if trace.file else clock_of(trace))


def trace_so_far(record: RunRecord, notes: bool) -> Trace:
    """Return the trace of a record so far.

    The trace of an ended run is built once, until the run changes.

    Parameters
    ----------
    notes
        Whether it has the notes of models and of the review.
    """
    known = record.taken
    if known is not None and known[0] is notes:
        return known[1]
    revision, is_ended = record.revision, record.ended
    trace = trace_of(
        record.id,
        list(record.calls),
        CLOCK.now_ns(),
        notes=notes,
        folded=record.folded.listed(),
        gaps=record.gaps,
        keep_calls=record.keep_calls,
        budget_bytes=record.budget_bytes,
    )
    if trace.spans:
        pauses = CLOCK.pauses(trace.start_ns, trace.end_ns)
        trace = replace(trace, pauses=pauses) if pauses else trace
    is_complete = is_ended and not trace.running
    trace = _with_extras(record, reviewed(trace) if notes else trace)
    if is_complete:
        record.taken = notes, trace
        # Calls dropped while the trace is built must not stay in memory.
        if record.revision is not revision:
            record.taken = None
    return trace


def _with_extras(record: RunRecord, trace: Trace) -> Trace:
    """Add the OpenTelemetry context and the profiles of a record, if it has any."""
    if record.context is not None:
        trace = replace(trace, context=record.context)
    profiler = record.profiler
    profiles = record.profiles if profiler is None else (profiler(),)
    return replace(trace, profiles=profiles) if profiles else trace


def trace_of(
    run_id: str,
    calls: Sequence[Call],
    now_ns: int,
    *,
    notes: bool = True,
    folded: tuple[FoldedCalls, ...] = (),
    gaps: Gaps | None = None,
    keep_calls: tuple[int, int] | None = None,
    budget_bytes: int | None = None,
) -> Trace:
    """Return a trace of the calls recorded so far.

    Parameters
    ----------
    notes
        Whether spans include their notes; those about incomplete records always are.
    folded, gaps
        The calls that are only counted, and where they were.
    keep_calls, budget_bytes
        The limits that dropped calls and values; see `drops_of`.
    """
    # A call is recorded a moment before its start, when it has no time yet. Threads
    # that start calls at once may record them in another order.
    calls, read = read_started(sorted(calls, key=_ID))
    models = distinct(read["model"])
    spans = spans_of(calls, read, models, notes)
    title = calls[0].model.name if calls else ""
    request_id = calls[0].request_id if calls else ""
    left_out = () if gaps is None else gaps.listed(calls, spans, models)
    counted = sum(each.calls for each in folded)
    return Trace(
        run_id,
        title,
        request_id,
        models,
        spans,
        now_ns,
        folded,
        gaps=left_out,
        drops=drops_of(spans, counted, keep_calls, budget_bytes),
    )
