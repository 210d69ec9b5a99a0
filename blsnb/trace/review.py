"""Notes on a run, from its spans: probable mistakes that Triton accepts."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from blsnb.request_fields import PLAIN
from blsnb.trace.events import CallFlag, ModelInfo
from blsnb.trace.facts import time
from blsnb.trace.spans import Span, Trace

_SEQUENTIAL = 3
"""Minimum number of sequential calls for a note."""
_SHARE = 0.2
"""Minimum share of the caller's time that they take."""
_WAITING = 8
"""Minimum number of calls waiting for the only instance for a note."""

_IGNORED = (
    "The client left while {} was running, and the model went on: it never calls "
    "is_cancelled(). Call it in loops, on the request or its response sender, and "
    "return early when it is True."
)

Notes = dict[int, list[str]]


def reviewed(trace: Trace) -> Trace:
    """Return a trace with the notes of a review after the spans' own notes."""
    notes = {} if trace.running else review(trace.spans, trace.models)
    if not notes:
        return trace
    spans = tuple(
        replace(span, notes=(*span.notes, *notes[span.index]))
        if span.index in notes
        else span
        for span in trace.spans
    )
    return replace(trace, spans=spans)


def review(spans: Sequence[Span], models: Sequence[ModelInfo]) -> Notes:
    """Return notes by the row of their span."""
    notes: Notes = defaultdict(list)
    for caller, calls in _loops(spans).items():
        text = _missed_gather(spans[caller[0]], calls, models)
        if text:
            notes[caller[0]].append(text)
    for row, text in _crowds(spans, models):
        notes[row].append(text)
    for span in spans:
        # The span already has a note about that.
        if not span.notes and _ignores_leaving(span, models[span.model]):
            notes[span.index].append(_IGNORED.format(models[span.model].name))
    return dict(notes)


def _loops(spans: Sequence[Span]) -> dict[tuple[int, int, int], list[Span]]:
    """Return the calls of one model by one line of one caller."""
    loops: dict[tuple[int, int, int], list[Span]] = defaultdict(list)
    for span in spans:
        if span.parent >= 0 and span.line and span.request_end_ns:
            loops[span.parent, span.line, span.model].append(span)
    return {key: calls for key, calls in loops.items() if len(calls) >= _SEQUENTIAL}


def _missed_gather(caller: Span, calls: list[Span], models: Sequence[ModelInfo]) -> str:
    calls = sorted(calls, key=lambda span: span.request_start_ns)
    sequential = all(
        later.request_start_ns >= earlier.request_end_ns
        for earlier, later in itertools.pairwise(calls)
    )
    took_ns = sum(call.duration_ns for call in calls)
    if not sequential or took_ns < _SHARE * caller.duration_ns or _is_chain(calls):
        return ""
    name = models[calls[0].model].name
    where = models[caller.model].place(calls[0].line)
    return (
        f"{len(calls)} calls of {name} at {where} were made one after the "
        f"other and took {time(took_ns / 1000)} in all. If they are "
        "independent, run them concurrently: "
        "await asyncio.gather(*(r.async_exec() for r in requests))."
    )


def _is_chain(calls: list[Span]) -> bool:
    """Whether a later call uses outputs of an earlier one, or all are one sequence."""
    sequences = {call.request_fields.correlation_id for call in calls}
    if len(sequences) < len(calls) and sequences != {PLAIN.correlation_id}:
        return True
    answered: set[int] = set()
    for call in calls:
        if any(ref.value_id in answered for ref in call.inputs):
            return True
        answered.update(ref.value_id for ref in call.outputs if not ref.evicted)
    return False


def _ignores_leaving(span: Span, model: ModelInfo) -> bool:
    """Whether a Python model ran on after its client left, without checking."""
    if span.parent >= 0 or (model.backend, model.kind) != ("python", "model"):
        return False
    left = span.flags & (CallFlag.CANCELLED | CallFlag.ASKED_CANCELLED | CallFlag.ERROR)
    return bool(span.compute_end_ns) and left == CallFlag.CANCELLED


def _crowds(
    spans: Sequence[Span], models: Sequence[ModelInfo]
) -> Iterable[tuple[int, str]]:
    waited: dict[int, list[Span]] = defaultdict(list)
    instances: dict[int, set[str]] = defaultdict(set)
    for span in spans:
        if span.compute_start_ns:
            waited[span.model].append(span)
            instances[span.model].add(span.instance)
    for model, calls in waited.items():
        most = _most_waiting(calls)
        if len(instances[model]) == 1 and most >= _WAITING:
            last = max(calls, key=lambda span: span.compute_start_ns)
            name = models[model].name
            yield (
                last.index,
                f"{most} calls of {name} waited at once for its only instance. With "
                "more (--instances, or instance_group { count: … }) they run side by "
                f"side.{_unbatched(models[model])}",
            )


def _unbatched(model: ModelInfo) -> str:
    """Return advice for a model that supports batches but has no batcher."""
    if model.unbatched < 2:
        return ""
    return (
        f" It takes batches of up to {model.unbatched}, and without dynamic_batching "
        "each request is executed alone: with it (--dynamic-batching, or "
        "dynamic_batching { }) those of one shape that wait are executed together."
    )


def _most_waiting(calls: list[Span]) -> int:
    """Return the maximum number of calls in the queue at one time."""
    changes = [(span.queue_start_ns, 1) for span in calls]
    changes += [(span.compute_start_ns, -1) for span in calls]
    most = waiting = 0
    for _, change in sorted(changes):
        waiting += change
        most = max(most, waiting)
    return most
