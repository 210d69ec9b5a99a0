"""Excerpts of a trace: the part for a page, and one call with all calls below it."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from blsnb.trace.events import CallFlag
from blsnb.trace.folding import FAILED_DIVISOR, FoldedCalls, FoldedCounts
from blsnb.trace.gaps import Gap, Name, between, first_of_name
from blsnb.trace.lazy.lazy_rows import LazyRows
from blsnb.trace.profiles.samples import part_of_profile
from blsnb.trace.spans import Span, Trace

MAX_CALLS = 50_000
"""Maximum number of calls in a page."""
_KNOWN: dict[int, Trace] = {}
"""Cached excerpts by trace, since a page needs an excerpt several times."""
_ERROR = CallFlag.ERROR.value


def page_excerpt(trace: Trace) -> Trace:
    """Return the part of a trace that fits in a page: all of it, unless very long."""
    if len(trace.spans) <= MAX_CALLS:
        return trace
    key = id(trace)
    if key not in _KNOWN:
        _KNOWN[key] = shortened(trace)
        weakref.finalize(trace, _KNOWN.pop, key, None)
    return _KNOWN[key]


def shortened(trace: Trace, most: int | None = None) -> Trace:
    """Return a trace with about ``most`` calls; the others are counted.

    The same calls are kept as by the recorder (see `fold`): the first and last ones,
    failed ones while there is room, the slowest one of each model and caller,
    running ones, and all callers of those.
    """
    most = MAX_CALLS if most is None else most
    if len(trace.spans) <= most:
        return trace
    rows = _staying(trace, most)
    index = {row: at for at, row in enumerate(rows)} | {-1: -1}
    gone = [row for row in range(len(trace.spans)) if row not in index]
    callers = trace.column("parent")
    # Other callers have kept all their calls.
    shortened_callers = {callers[row] for row in gone} | {gap[0] for gap in trace.gaps}
    models = first_of_name(trace.models)
    gaps = [
        gap
        for row in shortened_callers & index.keys()
        for gap in _gaps(trace, row, index, models)
    ]
    columns: dict[str, list[Any]] = {
        name: list(map(trace.column(name).__getitem__, rows)) for name in Span.__slots__
    }
    columns["index"] = list(range(len(rows)))
    columns["parent"] = [index[caller] for caller in columns["parent"]]
    spans = LazyRows(Span, columns)
    return dataclasses.replace(
        trace, spans=spans, folded=_counted(trace, gone), gaps=tuple(sorted(gaps))
    )


def _counted(trace: Trace, rows: Sequence[int]) -> tuple[FoldedCalls, ...]:
    counts = FoldedCounts(trace.folded)
    names = "model", "parent", "request_start_ns", "request_end_ns", "error"
    models, callers, start_ns, end_ns, errors = map(trace.column, names)
    pairs: dict[tuple[int, int], list[int]] = {}
    for row in rows:
        caller = callers[row]
        pair = (-1 if caller < 0 else models[caller]), models[row]
        pairs.setdefault(pair, []).append(row)
    for (caller, model), found in pairs.items():
        counts.count(
            (None if caller < 0 else trace.models[caller], trace.models[model]),
            np.array([start_ns[row] for row in found], np.int64),
            np.array([end_ns[row] for row in found], np.int64),
            sum(bool(errors[row]) for row in found),
        )
    return counts.listed()


def _moved(span: Span, index: int, parent: int) -> Span:
    if (span.index, span.parent) == (index, parent):
        return span
    return dataclasses.replace(span, index=index, parent=parent)


def _gaps(
    trace: Trace, caller: int, index: Mapping[int, int], models: Mapping[Name, int]
) -> Iterator[Gap]:
    for name, (rows, total) in trace.calls_by(caller).items():
        staying = [number for number, row in rows.items() if row in index]
        for after, calls in between(staying, total):
            yield Gap(index[caller], models[name], after, calls)


def _staying(trace: Trace, most: int) -> list[int]:
    count = len(trace.spans)
    head, tail = most // 2, count - most // 2
    callers, errors = trace.column("parent"), trace.column("error")
    flags = trace.column("flags") if trace.running else ()
    needed = {*callers[tail:], *_slowest(trace, range(head, tail))}
    failures = most // FAILED_DIVISOR
    staying = []
    for row in range(tail - 1, head - 1, -1):
        failed = bool(errors[row]) and failures > 0
        running = bool(flags) and bool(flags[row] & CallFlag.RUNNING)
        if failed or running or row in needed:
            needed.add(callers[row])
            failures -= failed
            staying.append(row)
    return [*range(head), *staying[::-1], *range(tail, count)]


def _slowest(trace: Trace, rows: Iterable[int]) -> Iterable[int]:
    models, callers = trace.column("model"), trace.column("parent")
    start_ns, end_ns = trace.column("request_start_ns"), trace.column("request_end_ns")
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for row in rows:
        caller = callers[row]
        pair = (-1 if caller < 0 else models[caller]), models[row]
        took_ns = max(0, end_ns[row] - start_ns[row])
        if pair not in found or took_ns > found[pair][0]:
            found[pair] = took_ns, row
    return [row for _, row in found.values()]


def by_importance(trace: Trace, selected: int = -1) -> list[int]:
    """Return all rows, those with the most important values first.

    Failed calls, the selected call, client requests, the slowest call of each model,
    the first call of each model by each caller; then the others in order of start.

    Parameters
    ----------
    selected
        Id of the selected call; -1 for none.
    """
    flags, models, callers = map(trace.column, ("flags", "model", "parent"))
    start_ns, end_ns = trace.column("request_start_ns"), trace.column("request_end_ns")
    failed = [row for row, bits in enumerate(flags) if int(bits) & _ERROR]
    slowest: dict[int, tuple[int, int]] = {}
    first: dict[tuple[int, int], int] = {}
    for row, model in enumerate(models):
        took = max(0, end_ns[row] - start_ns[row]), -row
        slowest[model] = max(slowest.get(model, took), took)
        first.setdefault((callers[row], model), row)
    chosen = [row] if (row := trace.row_of(selected)) >= 0 else []
    slow = [-row for _, row in slowest.values()]
    rows = [*failed, *chosen, *trace.roots, *slow, *first.values(), *range(len(models))]
    return list(dict.fromkeys(rows))


def part_of(trace: Trace, row: int) -> Trace:
    """Return a call and all calls below it, as the trace of a client request."""
    numbers = {row: 0}
    spans = [_moved(trace.spans[row], 0, -1)]
    # Callers precede their calls.
    for span in trace.spans[row + 1 :]:
        if span.parent in numbers:
            numbers[span.index] = len(spans)
            spans.append(_moved(span, len(spans), numbers[span.parent]))
    calls = {span.id for span in spans}
    return dataclasses.replace(
        _request(trace, spans),
        profiles=tuple(part_of_profile(each, calls) for each in trace.profiles),
        gaps=tuple(
            gap._replace(caller=numbers[gap.caller])
            for gap in trace.gaps
            if gap.caller in numbers
        ),
    )


def client_requests(trace: Trace) -> Iterator[Trace]:
    """Yield each client request with all calls below it, as traces of their own."""
    families: dict[int, list[Span]] = {}
    roots: list[int] = []
    places: list[int] = []
    # Callers precede their calls.
    for span in trace.spans:
        root = span.index if span.parent < 0 else roots[span.parent]
        family = families.setdefault(root, [])
        caller = -1 if span.parent < 0 else places[span.parent]
        roots.append(root)
        places.append(len(family))
        family.append(_moved(span, len(family), caller))
    for family in families.values():
        yield _request(trace, family)


def _request(trace: Trace, spans: Sequence[Span]) -> Trace:
    """Return some calls of a trace as that of a client request, the first one."""
    top = spans[0]
    return dataclasses.replace(
        trace,
        title=trace.models[top.model].name,
        request_id=top.request_id,
        spans=tuple(spans),
        folded=(),
        gaps=(),
    )
