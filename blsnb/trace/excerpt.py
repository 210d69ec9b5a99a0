"""Of a very long trace, the calls that a page can hold; the others are counted."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping

from blsnb.trace.folding import FoldedCounts, Pair
from blsnb.trace.gaps import Gap, between, first_of_name
from blsnb.trace.spans import Span, Trace

MOST = 50_000
_FAILED = 10
"""One part in so many of the room is for failed calls, wherever they happened."""


def shortened(trace: Trace, most: int | None = None) -> Trace:
    """Return a trace with at most about so many calls one by one.

    The same calls stay as in a long run that is recorded: the first and the last
    ones, failed ones while there is room, the slowest one of each model and caller,
    what has not ended, and whoever called what stays.
    """
    most = MOST if most is None else most
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
    """Yield what is left out of the calls of a caller that stays."""
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
