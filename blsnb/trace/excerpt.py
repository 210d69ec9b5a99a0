"""Excerpts of a trace: the part for a page, and one call with all calls below it."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Iterable, Iterator, Mapping

from blsnb.trace.folding import FoldedCounts, Pair
from blsnb.trace.gaps import Gap, between, first_of_name
from blsnb.trace.profiles.samples import part_of_profile
from blsnb.trace.spans import Span, Trace

MAX_CALLS = 50_000
"""Maximum number of calls in a page."""
_KNOWN: dict[int, Trace] = {}
"""Cached excerpts by trace, since a page needs an excerpt several times."""
_FAILED = 10
"""Divisor: at most a tenth of the kept calls are failed ones from the middle."""


def page_excerpt(trace: Trace) -> Trace:
    """Return the part of a trace that fits in a page: all of it, unless very long."""
    if len(trace.spans) <= MAX_CALLS:
        return trace
    key = id(trace)
    if key not in _KNOWN:
        _KNOWN[key] = shortened(trace)
        weakref.finalize(trace, _KNOWN.pop, key, None).atexit = False
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
    staying = set(rows)
    counts = FoldedCounts(trace.folded)
    for span in trace.spans:
        if span.index not in staying:
            counts.count(
                _pair(trace, span),
                span.request_start_ns,
                span.request_end_ns,
                bool(span.error),
            )
    number = {row: place for place, row in enumerate(rows)} | {-1: -1}
    gaps = [gap for row in number for gap in _gaps(trace, row, number)]
    spans = tuple(
        _moved(trace.spans[row], place, number[trace.spans[row].parent])
        for place, row in enumerate(rows)
    )
    return dataclasses.replace(
        trace, spans=spans, folded=counts.listed(), gaps=tuple(sorted(gaps))
    )


def _moved(span: Span, index: int, parent: int) -> Span:
    if (span.index, span.parent) == (index, parent):
        return span
    return dataclasses.replace(span, index=index, parent=parent)


def _gaps(trace: Trace, caller: int, place: Mapping[int, int]) -> Iterator[Gap]:
    """Yield the gaps between the kept calls of a caller."""
    models = first_of_name(trace.models)
    for name, (rows, total) in trace.calls_by(caller).items():
        staying = [number for number, row in rows.items() if row in place]
        for after, calls in between(staying, total):
            yield Gap(place[caller], models[name], after, calls)


def _staying(trace: Trace, most: int) -> list[int]:
    spans = trace.spans
    head, tail = most // 2, len(spans) - most // 2
    middle = spans[head:tail]
    needed = {span.parent for span in spans[tail:]} | _slowest(trace, middle)
    failures = most // _FAILED
    staying = []
    for span in reversed(middle):
        failed = bool(span.error) and failures > 0
        if failed or span.running or span.index in needed:
            needed.add(span.parent)
            failures -= failed
            staying.append(span.index)
    return [*range(head), *staying[::-1], *range(tail, len(spans))]


def _slowest(trace: Trace, spans: Iterable[Span]) -> set[int]:
    found: dict[Pair, Span] = {}
    for span in spans:
        known = found.setdefault(_pair(trace, span), span)
        if span.duration_ns > known.duration_ns:
            found[_pair(trace, span)] = span
    return {span.index for span in found.values()}


def _pair(trace: Trace, span: Span) -> Pair:
    caller = None if span.parent < 0 else trace.models[trace.spans[span.parent].model]
    return caller, trace.models[span.model]


def part_of(trace: Trace, row: int) -> Trace:
    """Return a call and all calls below it, as the trace of a client request."""
    numbers = {row: 0}
    spans = [_moved(trace.spans[row], 0, -1)]
    # Callers precede their calls.
    for span in trace.spans[row + 1 :]:
        if span.parent in numbers:
            numbers[span.index] = len(spans)
            spans.append(_moved(span, len(spans), numbers[span.parent]))
    top = spans[0]
    calls = {span.id for span in spans}
    return dataclasses.replace(
        trace,
        title=trace.models[top.model].name,
        request_id=top.request_id,
        spans=tuple(spans),
        folded=(),
        profiles=tuple(part_of_profile(each, calls) for each in trace.profiles),
        gaps=tuple(
            gap._replace(caller=numbers[gap.caller])
            for gap in trace.gaps
            if gap.caller in numbers
        ),
    )


def parts_of(trace: Trace) -> Iterator[Trace]:
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
        top = family[0]
        yield dataclasses.replace(
            trace,
            title=trace.models[top.model].name,
            request_id=top.request_id,
            spans=tuple(family),
            folded=(),
            gaps=(),
        )
