"""The calls of a run as rows of a table, and as a pandas DataFrame."""

from __future__ import annotations

from typing import Any

from blsnb.trace.spans import Span, Trace


def call_frame(trace: Trace) -> Any:
    """Return the calls as a pandas DataFrame.

    Raises
    ------
    ImportError
        pandas is not installed.
    """
    __tracebackhide__ = True
    try:
        import pandas
    except ImportError:
        raise ImportError(
            "run.to_pandas() needs pandas: pip install 'blsnb[pandas]'"
        ) from None
    frame = pandas.DataFrame([_row(trace, span) for span in trace.spans], columns=HEAD)
    return frame.astype(_TYPES).set_index("call")


HEAD = (
    "call",
    "caller",
    "model",
    "version",
    "instance",
    "line",
    "start_ms",
    "duration_ms",
    "queue_ms",
    "compute_ms",
    "batch",
    "responses",
    "input_bytes",
    "output_bytes",
    "request_id",
    "error_code",
    "error",
)
"""Names of the columns; the first is the index."""
_TYPES = {
    "caller": "Int64",
    "line": "Int64",
    "start_ms": "float64",
    "queue_ms": "float64",
    "compute_ms": "float64",
}
"""Types of the columns in which a value can be missing."""


def _row(trace: Trace, span: Span) -> tuple[Any, ...]:
    model = trace.models[span.model]
    caller = None if span.parent < 0 else trace.spans[span.parent].id
    sent = [ref for response in span.responses for ref in response.outputs]
    return (
        span.id,
        caller,
        model.name,
        model.version,
        span.instance,
        span.line or None,
        _ms(trace.start_ns, span.request_start_ns),
        span.duration_ns / 1e6,
        _ms(span.queue_start_ns, span.compute_start_ns),
        _ms(span.compute_start_ns, span.compute_end_ns),
        span.batch,
        span.response_count or 1,
        sum(ref.byte_size for ref in span.inputs),
        sum(ref.byte_size for ref in (*span.outputs, *sent)),
        span.request_fields.request_id,
        span.error_code,
        span.error,
    )


def _ms(start_ns: int, end_ns: int) -> float | None:
    """Return a duration; None if its start or end was not reached."""
    return (end_ns - start_ns) / 1e6 if start_ns and end_ns else None
