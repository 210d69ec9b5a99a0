"""Notes on a run, from its spans: probable mistakes that Triton accepts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from math import prod
from operator import attrgetter
from typing import Any

import numpy as np

from blsnb.request_fields import PLAIN
from blsnb.tensors.dtypes import BYTES
from blsnb.tensors.memory import HOST
from blsnb.tensors.ref import TensorRef
from blsnb.trace.events import CallFlag, ModelInfo
from blsnb.trace.facts import time
from blsnb.trace.lazy.lazy_rows import LazyRows, column_of
from blsnb.trace.spans import Span, Trace

_SEQUENTIAL = 3
"""Minimum number of sequential calls for a note."""
_SHARE = 0.2
"""Minimum share of the caller's time that they take."""
_COMPARED = 100
"""Maximum number of calls of a loop whose values are compared."""
_LENGTH_BYTES = 4
"""Bytes before each element of type BYTES."""
_WAITING = 8
"""Minimum number of calls waiting for the only instance for a note."""

_TIMES = "request_start_ns", "request_end_ns"
_NUMBERS = (
    *("parent", "line", "model", "flags"),
    *("queue_start_ns", "compute_start_ns", *_TIMES),
)
_SEQUENCE, _VALUE = attrgetter("correlation_id"), attrgetter("value_id")

_IGNORED = (
    "The client left while {} was running, and the model went on: it never calls "
    "is_cancelled(). Call it in loops, on the request or its response sender, and "
    "return early when it is True."
)

Notes = dict[int, list[str]]
Tensors = tuple[TensorRef, ...]
Array = np.ndarray[Any, Any]
Calls = dict[str, Array]
"""The fields `_NUMBERS` of all calls."""


def reviewed(trace: Trace) -> Trace:
    """Return a trace with the notes of a review after the spans' own notes.

    A recorded run is reviewed when its notes are first read.
    """
    if trace.running:
        return trace
    spans, models = trace.spans, trace.models
    if isinstance(spans, LazyRows):
        later = spans.with_column("notes", partial(_notes, spans, models))
        return replace(trace, spans=later)
    notes = _notes(spans, models)
    changed = [replace(span, notes=notes[span.index]) for span in spans]
    return replace(trace, spans=tuple(changed))


def _notes(
    spans: Sequence[Span], models: Sequence[ModelInfo]
) -> Sequence[tuple[str, ...]]:
    """Return the notes of each span: its own, then those of the review."""
    notes = list(column_of(spans, "notes"))
    for row, texts in review(spans, models).items():
        notes[row] = (*notes[row], *texts)
    return notes


def review(spans: Sequence[Span], models: Sequence[ModelInfo]) -> Notes:
    """Return notes by the row of their span."""
    notes: Notes = defaultdict(list)
    calls = {name: _column(spans, name) for name in _NUMBERS}
    for rows, took_ns in _sequential(calls):
        text = _missed_gather(spans, rows, took_ns, models)
        if text:
            notes[spans[rows[0]].parent].append(text)
    for row, text in _crowds(spans, calls, models):
        notes[row].append(text)
    for row in _ignoring(spans, models):
        # The span already has a note about that.
        if not spans[row].notes:
            notes[row].append(_IGNORED.format(models[spans[row].model].name))
    return dict(notes)


def _column(spans: Sequence[Span], name: str) -> Array:
    return np.fromiter(column_of(spans, name), np.int64, len(spans))


def _sequential(calls: Calls) -> Iterator[tuple[list[int], int]]:
    """Yield the rows of each loop, made one after the other, and their total duration.

    A loop has calls of one model by one line of one caller, in order of their starts.
    """
    order, first = _loops(calls)
    if not len(first):
        return
    start_ns, end_ns = (calls[name][order] for name in _TIMES)
    overlaps = np.concatenate([[False], start_ns[1:] < end_ns[:-1]])
    # Quick calls of a gather may end before the next one starts.
    overlaps |= (calls["flags"][order] & CallFlag.CONCURRENT) != 0
    overlaps[first] = False
    took_ns = np.add.reduceat(end_ns - start_ns, first)
    lengths = np.diff(first, append=len(order))
    alone = (lengths >= _SEQUENTIAL) & ~np.logical_or.reduceat(overlaps, first)
    lowest = np.minimum.reduceat(order, first)
    for loop in sorted(np.flatnonzero(alone).tolist(), key=lowest.__getitem__):
        begin = first[loop]
        yield order[begin : begin + lengths[loop]].tolist(), int(took_ns[loop])


def _loops(calls: Calls) -> tuple[Array, Array]:
    """Return rows of ended calls with a known line, by loop, and where each begins."""
    ended, caller, line = (calls[name] for name in ("request_end_ns", "parent", "line"))
    rows = np.flatnonzero((ended != 0) & (caller >= 0) & (line != 0))
    keys = [calls[name][rows] for name in ("model", "line", "parent")]
    order = np.lexsort([calls["request_start_ns"][rows], *keys])
    changes = [np.diff(key[order], prepend=-1) != 0 for key in keys]
    return rows[order], np.flatnonzero(np.logical_or.reduce(changes))


def _missed_gather(
    spans: Sequence[Span], rows: list[int], took_ns: int, models: Sequence[ModelInfo]
) -> str:
    span = spans[rows[0]]
    caller = spans[span.parent]
    if took_ns < _SHARE * caller.duration_ns or _is_chain(spans, rows):
        return ""
    return (
        f"{len(rows)} calls of {models[span.model].name} at "
        f"{models[caller.model].place(span.line)} were made one after the "
        f"other and took {time(took_ns / 1000)} in all. If they are "
        "independent, run them concurrently: "
        "await asyncio.gather(*(r.async_exec() for r in requests))."
    )


def _is_chain(spans: Sequence[Span], rows: Sequence[int]) -> bool:
    """Whether later calls seem to need the responses of earlier ones."""
    fields = column_of(spans, "request_fields")
    sequences = set(map(_SEQUENCE, map(fields.__getitem__, rows)))
    if len(sequences) < len(rows) and sequences != {PLAIN.correlation_id}:
        return True
    inputs, outputs = column_of(spans, "inputs"), column_of(spans, "outputs")
    if _passes_on(inputs, outputs, rows) or _grows(inputs, rows[:_COMPARED]):
        return True
    return all(
        _follows(inputs[row], inputs[before], outputs[before])
        for before, row in pairwise(rows[:_COMPARED])
    )


def _passes_on(
    inputs: Sequence[Tensors], outputs: Sequence[Tensors], rows: Sequence[int]
) -> bool:
    """Whether an input of a call is a kept output of an earlier one."""
    # What the first call receives, it may return.
    given = set(map(_VALUE, inputs[rows[0]]))
    answered: set[int] = set()
    for row in rows:
        if not answered.isdisjoint(map(_VALUE, inputs[row])):
            return True
        # Python shares bytes of length 1.
        kept = (ref for ref in outputs[row] if not ref.evicted and ref.byte_size > 1)
        answered.update(set(map(_VALUE, kept)) - given)
    return False


def _follows(inputs: Tensors, before: Tensors, outputs: Tensors) -> bool:
    """Whether an input is a copy of an output, and of no input, of the call before."""
    return any(
        _is_copy(ref, output)
        for ref in inputs
        if not any(_is_copy(ref, other) for other in before)
        for output in outputs
    )


def _grows(inputs: Sequence[Tensors], rows: Sequence[int]) -> bool:
    """Whether an input becomes longer with each call, as what is generated does."""
    refs = defaultdict[str, list[TensorRef]](list)
    for row in rows:
        for ref in inputs[row]:
            refs[ref.name].append(ref)
    return any(
        len(each) == len(rows) and (_lengthens(each) or _continues(each))
        for each in refs.values()
    )


def _lengthens(refs: Sequence[TensorRef]) -> bool:
    """Whether one axis of a tensor grows by the same number with each call."""
    if len({len(ref.shape) for ref in refs}) > 1:
        return False
    steps = np.diff([ref.shape for ref in refs], axis=0)
    first = steps[0]
    return bool(
        np.all(steps == first) and np.all(first >= 0) and np.count_nonzero(first) == 1
    )


def _continues(refs: Sequence[TensorRef]) -> bool:
    """Whether each text begins with the one before it."""
    if any(
        ref.dtype is not BYTES or ref.evicted or prod(ref.shape) != 1 for ref in refs
    ):
        return False
    texts = [bytes(ref.data or b"")[_LENGTH_BYTES:] for ref in refs]
    return all(
        len(before) < len(text) and text.startswith(before)
        for before, text in pairwise(texts)
    )


def _is_copy(this: TensorRef, other: TensorRef) -> bool:
    """Whether a tensor has the elements of another one, perhaps of another type."""
    is_known = not (this.evicted or other.evicted) and this.device == other.device
    if not is_known or prod(this.shape) != prod(other.shape) or this.device != HOST:
        return False
    if this.dtype is other.dtype:
        return this.data == other.data
    if BYTES in (this.dtype, other.dtype):
        return False
    with np.errstate(all="ignore"):
        array = this.view().reshape(-1)
        cast = other.view().reshape(-1).astype(array.dtype)
        return np.array_equal(array, cast, equal_nan=True)


def _ignoring(spans: Sequence[Span], models: Sequence[ModelInfo]) -> Iterator[int]:
    """Yield the rows of Python models that ignored that their client had left."""
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
    spans: Sequence[Span], calls: Calls, models: Sequence[ModelInfo]
) -> Iterator[tuple[int, str]]:
    """Yield a row and a note for each model that had too few instances."""
    names = "model", "queue_start_ns", "compute_start_ns"
    model_of, queued, begun = (calls[name] for name in names)
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
