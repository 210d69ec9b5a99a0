"""The calls of a trace as arrays of numbers, one per property."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np

from blsnb.trace.events import CallFlag
from blsnb.trace.lazy.call_fields import TIMES
from blsnb.trace.lazy.lazy_rows import column_of
from blsnb.trace.spans import Span, Trace

T = TypeVar("T")
Array = np.ndarray[Any, Any]

PHASES = (
    "pre_us",
    "queue_us",
    "compute_input_us",
    "compute_infer_us",
    "compute_output_us",
    "post_us",
)


@dataclass(frozen=True)
class Columns:
    """One array per property of the calls, all of one length."""

    parent: Array
    model: Array
    flags: Array
    line: Array
    execution: Array
    batch: Array
    """Number of requests of the ``execute`` that ran each call."""
    responses: Array
    """Number of responses so far."""
    start_us: Array
    """REQUEST_START in microseconds since the start of the trace."""
    phases: Array
    """A row per phase, in the order of ``PHASES``; NaN where not recorded."""

    @cached_property
    def duration_us(self) -> Array:
        """Time from REQUEST_START to REQUEST_END, or until the trace was taken."""
        return np.asarray(np.nansum(self.phases, axis=0))

    @cached_property
    def end_us(self) -> Array:
        """End of each call, since the start of the trace."""
        return np.asarray(self.start_us + self.duration_us)

    def took_us(self, calls: Sequence[int]) -> float:
        """Return the sum of the durations of some calls."""
        return float(self.duration_us[list(calls)].sum())

    @property
    def wall_us(self) -> float:
        """End of the last call."""
        return float(self.end_us.max(initial=0.0))

    def has(self, flag: CallFlag) -> Array:
        """Return whether each call has a flag."""
        return np.asarray(self.flags & int(flag) != 0)

    @cached_property
    def covered_us(self) -> Array:
        """Time of each call during which a child call was running."""
        made = np.flatnonzero(self.parent >= 0)
        parent = self.parent[made]
        start = np.clip(self.start_us[made], self.start_us[parent], self.end_us[parent])
        end = np.clip(self.end_us[made], start, self.end_us[parent])
        order = np.lexsort((start, parent))
        parent, start, end = parent[order], start[order], end[order]
        # All callers are placed on one axis one after the other, so that a running
        # maximum does not cross from one caller to the next.
        shift = parent * (self.wall_us + 1.0)
        reached = np.maximum.accumulate(end + shift) - shift
        before = np.concatenate(([0.0], reached[:-1]))
        before[np.flatnonzero(np.diff(parent, prepend=-1))] = 0.0
        gained = np.maximum(0.0, end - np.maximum(start, before))
        return np.bincount(parent, gained, minlength=len(self.parent))

    @cached_property
    def own_us(self) -> Array:
        """Time of each call that is not covered by child calls."""
        return np.asarray(self.duration_us - self.covered_us)


class OfTrace(Generic[T]):
    """Values made of traces; those of the last two traces are kept.

    A document needs those of a run and its baseline often. Thread-safe.

    Parameters
    ----------
    make
        Returns the value of a trace.
    """

    def __init__(self, make: Callable[[Trace], T]) -> None:
        self._make = make
        self._recent: tuple[tuple[weakref.ref[Trace], T], ...] = ()

    def __call__(self, trace: Trace) -> T:
        """Return the value of a trace."""
        for known, value in self._recent:
            if known() is trace:
                return value
        value = self._make(trace)
        # Replaced as a whole, because another thread may be reading it.
        self._recent = (weakref.ref(trace), value), *self._recent[:1]
        return value


@OfTrace
def _whole(trace: Trace) -> Columns:
    return _made(trace)


def columns_of(trace: Trace, rows: Sequence[int] | None = None) -> Columns:
    """Return the columns of a trace, or of some of its rows."""
    return _whole(trace) if rows is None else _made(trace, rows)


def _made(trace: Trace, rows: Sequence[int] | None = None) -> Columns:
    spans = trace.spans if rows is None else [trace.spans[row] for row in rows]
    start_ns = trace.start_ns
    flags = _column(spans, "flags", np.uint16)
    opened = [_column(spans, name, np.int64) for name in TIMES[:-1]]
    _begin_steps(trace, spans, opened)
    ended = _column(spans, "request_end_ns", np.int64)
    ended[ended == 0] = trace.taken_ns
    return Columns(
        parent=_column(spans, "parent", np.int32),
        model=_column(spans, "model", np.uint16),
        flags=flags,
        line=_column(spans, "line", np.uint32),
        execution=_column(spans, "execution", np.uint32),
        batch=_column(spans, "batch", np.uint32),
        responses=_responses(spans, flags),
        start_us=(opened[0] - start_ns) / 1000,
        phases=_phases(opened, ended),
    )


def _column(spans: Sequence[Span], name: str, dtype: Any) -> Array:
    return np.fromiter(column_of(spans, name), dtype, len(spans))


def _responses(spans: Sequence[Span], flags: Array) -> Array:
    sent = _column(spans, "response_count", np.uint32)
    single = flags & int(CallFlag.DECOUPLED | CallFlag.RUNNING) == 0
    return np.where(single, np.maximum(sent, 1), sent)


def _begin_steps(trace: Trace, spans: Sequence[Span], opened: list[Array]) -> None:
    """End the queue phase of an ensemble, which does not compute, at its first step."""
    _, queue, compute, infer, *_ = opened
    for place in np.flatnonzero((queue > 0) & (compute == 0)).tolist():
        steps = trace.children[spans[place].index]
        first = min((trace.spans[row].request_start_ns for row in steps), default=0)
        infer[place] = max(first, queue[place]) if steps else 0


def _phases(opened: list[Array], ended: Array) -> Array:
    """Return a phase for each activity that was reached; it ends at the next one.

    The phases add up to the call's duration, even if the call failed early or is still
    running.
    """
    phases = np.full((len(opened), len(ended)), np.nan)
    upto = ended
    for phase, at in zip(phases[::-1], opened[::-1], strict=True):
        reached = at > 0
        phase[reached] = np.maximum(0, upto - at)[reached] / 1000
        upto = np.where(reached, at, upto)
    return phases
