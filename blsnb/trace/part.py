"""Part of a trace: one call, and what it caused."""

from __future__ import annotations

from dataclasses import replace

from blsnb.trace.spans import Span, Trace


def part_of(trace: Trace, row: int) -> Trace:
    """Return a call and all calls below it, as if it had been asked from outside."""
    numbers = {row: 0}
    spans = [_renumbered(trace.spans[row], 0, -1)]
    # Callers stand before their calls.
    for span in trace.spans[row + 1 :]:
        if span.parent in numbers:
            numbers[span.index] = len(spans)
            spans.append(_renumbered(span, len(spans), numbers[span.parent]))
    top = spans[0]
    return replace(
        trace,
        title=trace.models[top.model].name,
        request_id=top.request_id,
        spans=tuple(spans),
        folded=(),
        gaps=tuple(
            gap._replace(caller=numbers[gap.caller])
            for gap in trace.gaps
            if gap.caller in numbers
        ),
    )


def _renumbered(span: Span, index: int, parent: int) -> Span:
    return replace(span, index=index, parent=parent)
