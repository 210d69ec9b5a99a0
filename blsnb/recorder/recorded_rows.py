"""Rows of a data set, from the requests of a recording."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from blsnb.run import Run
from blsnb.tensors.ref import TensorRef
from blsnb.trace.spans import Span

Row = dict[str, Any]


def rows_of(runs: Iterable[Run]) -> Iterator[Row]:
    """Return a row for each run whose input values were recorded.

    Parameters
    ----------
    runs
        Runs in the order of their starts.
    """
    first_ns: int | None = None
    for run in runs:
        start_ns = wall_start_ns(run)
        first_ns = start_ns if first_ns is None else first_ns
        span = run.trace.spans[0]
        if not any(ref.evicted for ref in span.inputs):
            yield _row(span, run.error, (start_ns - first_ns) / 1e9)


def wall_start_ns(run: Run) -> int:
    """Return the time of day at which a run started, in nanoseconds."""
    trace = run.trace
    clock = trace.clock
    return trace.start_ns + (clock.unix_ns - clock.monotonic_ns if clock else 0)


def _row(span: Span, error: str | None, arrival_s: float) -> Row:
    fields = span.request_fields
    return {
        "request_id": fields.request_id,
        "correlation_id": fields.correlation_id,
        "parameters": dict(fields.parameters),
        "arrival_s": arrival_s,
        "error": error or "",
        **_outputs(span),
        # The inputs are last: the model gets them, whatever else has their names.
        **{ref.name: ref.view() for ref in span.inputs},
    }


def _outputs(span: Span) -> Row:
    if not span.response_count:
        return {ref.name: _value(ref) for ref in span.outputs}
    found: Row = {}
    for response in span.responses:
        for ref in response.outputs:
            found.setdefault(ref.name, []).append(_value(ref))
    return found


def _value(ref: TensorRef) -> Any:
    return None if ref.evicted else ref.view()
