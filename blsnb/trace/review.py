"""Notes on a run, from its spans: probable mistakes that Triton accepts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from blsnb.request_fields import PLAIN
from blsnb.tensors.ref import TensorRef
from blsnb.trace.events import CallFlag, ModelInfo
from blsnb.trace.facts import time
from blsnb.trace.lazy.lazy_rows import LazyRows, column_of
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
Tensors = tuple[TensorRef, ...]
Array = np.ndarray[Any, Any]


def reviewed(trace: Trace) -> Trace:
    """Return a trace with the notes of a review after the spans' own notes."""
    notes = {} if trace.running else review(trace.spans, trace.models)
    if not notes:
        return trace
    spans = trace.spans
    own = {row: (*spans[row].notes, *texts) for row, texts in notes.items()}
    if isinstance(spans, LazyRows):
        return replace(trace, spans=spans.with_column("notes", own))
    changed = [
        replace(span, notes=own[span.index]) if span.index in own else span
        for span in spans
    ]
    return replace(trace, spans=tuple(changed))


def review(spans: Sequence[Span], models: Sequence[ModelInfo]) -> Notes:
    """Return notes by the row of their span."""
    notes: Notes = defaultdict(list)
    for (caller, line, _), calls in _loops(spans).items():
        text = _missed_gather(spans, caller, line, calls, models)
        if text:
            notes[caller].append(text)
    for row, text in _crowds(spans, models):
        notes[row].append(text)
    for row in _ignoring(spans, models):
        # The span already has a note about that.
        if not spans[row].notes:
            notes[row].append(_IGNORED.format(models[spans[row].model].name))
    return dict(notes)


def _loops(spans: Sequence[Span]) -> dict[tuple[int, int, int], list[int]]:
    """Return the rows of the calls of one model by one line of one caller."""
    loops: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    names = "parent", "line", "model"
    keys = zip(*(column_of(spans, name) for name in names), strict=True)
    ended = column_of(spans, "request_end_ns")
    for row, (key, end_ns) in enumerate(zip(keys, ended, strict=True)):
        if end_ns and key[0] >= 0 and key[1]:
            loops[key].append(row)
    return {key: calls for key, calls in loops.items() if len(calls) >= _SEQUENTIAL}


def _missed_gather(
    spans: Sequence[Span],
    caller: int,
    line: int,
    rows: list[int],
    models: Sequence[ModelInfo],
) -> str:
    start_ns = column_of(spans, "request_start_ns")
    end_ns = column_of(spans, "request_end_ns")
    rows = sorted(rows, key=start_ns.__getitem__)
    sequential = all(
        start_ns[later] >= end_ns[earlier] for earlier, later in pairwise(rows)
    )
    took_ns = sum(max(0, end_ns[row] - start_ns[row]) for row in rows)
    if not sequential or took_ns < _SHARE * spans[caller].duration_ns:
        return ""
    if _is_chain(spans, rows):
        return ""
    name = models[spans[rows[0]].model].name
    where = models[spans[caller].model].place(line)
    return (
        f"{len(rows)} calls of {name} at {where} were made one after the "
        f"other and took {time(took_ns / 1000)} in all. If they are "
        "independent, run them concurrently: "
        "await asyncio.gather(*(r.async_exec() for r in requests))."
    )


def _is_chain(spans: Sequence[Span], rows: Sequence[int]) -> bool:
    """Whether a later call uses outputs of an earlier one, or all are one sequence."""
    fields = column_of(spans, "request_fields")
    sequences = {fields[row].correlation_id for row in rows}
    if len(sequences) < len(rows) and sequences != {PLAIN.correlation_id}:
        return True
    inputs, outputs = column_of(spans, "inputs"), column_of(spans, "outputs")
    used = {ref.value_id for row in rows for ref in inputs[row]}
    answered = {ref.value_id for row in rows for ref in outputs[row]}
    return not used.isdisjoint(answered) and _passes_on(inputs, outputs, rows)


def _passes_on(
    inputs: Sequence[Tensors], outputs: Sequence[Tensors], rows: Sequence[int]
) -> bool:
    """Whether an input of a call is a kept output of an earlier one."""
    answered: set[int] = set()
    for row in rows:
        if any(ref.value_id in answered for ref in inputs[row]):
            return True
        answered.update(ref.value_id for ref in outputs[row] if not ref.evicted)
    return False


def _ignoring(spans: Sequence[Span], models: Sequence[ModelInfo]) -> Iterator[int]:
    """Yield the Python models that ran on after their client left, without checking."""
    flags_of = column_of(spans, "flags")
    if not any(bits & CallFlag.CANCELLED for bits in set(map(int, flags_of))):
        return
    for row, flags in enumerate(flags_of):
        left = flags & (CallFlag.CANCELLED | CallFlag.ASKED_CANCELLED | CallFlag.ERROR)
        if left != CallFlag.CANCELLED:
            continue
        span, model = spans[row], models[spans[row].model]
        is_python = (model.backend, model.kind) == ("python", "model")
        if span.parent < 0 and is_python and span.compute_end_ns:
            yield row


def _crowds(
    spans: Sequence[Span], models: Sequence[ModelInfo]
) -> Iterable[tuple[int, str]]:
    names = "model", "queue_start_ns", "compute_start_ns"
    model_of, queued, begun = (
        np.array(column_of(spans, name), np.int64) for name in names
    )
    instance_of = column_of(spans, "instance")
    for model in np.unique(model_of[begun > 0]).tolist():
        rows = np.flatnonzero((model_of == model) & (begun > 0))
        if len({instance_of[row] for row in rows.tolist()}) > 1:
            continue
        most = _most_waiting(queued[rows], begun[rows])
        if most >= _WAITING:
            name = models[model].name
            yield (
                int(rows[begun[rows].argmax()]),
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


def _most_waiting(queued: Array, begun: Array) -> int:
    """Return the maximum number of calls in the queue at one time."""
    changed = np.concatenate([begun, queued])
    change = np.repeat([-1, 1], len(begun))
    # A call that leaves the queue precedes one that enters it at the same time.
    order = np.argsort(changed, kind="stable")
    return int(np.cumsum(change[order]).max(initial=0))
