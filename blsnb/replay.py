"""Replay: a recorded call as a request that can be made again."""

from __future__ import annotations

from typing import Any, Protocol

from blsnb.errors import TraceError
from blsnb.pb_utils.message import RequestMessage
from blsnb.trace.spans import Span, Trace


class Asked(Protocol):
    """What makes requests: a server."""

    def ask_again(
        self, request: RequestMessage, client_timeout_s: float | None = None
    ) -> Any:
        """Make a recorded request on its model as it is now; return the run."""


def span_of(trace: Trace, call: int | Span) -> Span:
    """Return the call that is meant: by its row, or by its span.

    Raises
    ------
    TraceError
        The trace has no such call.
    TypeError
        It is neither a number nor a span.
    """
    if isinstance(call, Span):
        row = call.index
    elif isinstance(call, int) and not isinstance(call, bool):
        row = call
    else:
        raise TypeError(
            "a call is named by its row or by its span, such as run.trace.spans[3], "
            f"not {call!r}"
        )
    if not 0 <= row < len(trace.spans):
        known = f"rows 0 to {len(trace.spans) - 1}" if trace.spans else "none"
        raise TraceError(f"the run has no call {row}; it has {known}")
    span = trace.spans[row]
    if isinstance(call, Span) and call.request_start_ns != span.request_start_ns:
        raise TraceError(f"{_name(trace, call, call.index)} is of another run")
    return span


def request_of(trace: Trace, span: Span) -> RequestMessage:
    """Return the request that a call was, to be made again.

    Raises
    ------
    TraceError
        It was no request, it has not ended, or an input's value is not there.
    """
    name = _name(trace, span, span.index)
    model = trace.models[span.model]
    if model.kind != "model":
        raise TraceError(f"{name} is a span that a user opened, and no request")
    if span.running:
        raise TraceError(f"{name} has not ended: its inputs are recorded at its end")
    gone = [ref.name for ref in span.inputs if ref.evicted]
    if gone:
        raise TraceError(f"{name} cannot be replayed: {_gone(trace, gone)}")
    fields = span.request_fields
    return RequestMessage(
        model.name,
        span.inputs,
        span.requested_outputs,
        fields.version,
        span.request_id,
        fields.correlation_id,
        fields.flags,
        fields.timeout_us,
        fields.priority,
        dict(fields.parameters),
    )


def _name(trace: Trace, span: Span, row: int) -> str:
    known = span.model < len(trace.models)
    return f"call {row} ({trace.models[span.model].name})" if known else f"call {row}"


def _gone(trace: Trace, names: list[str]) -> str:
    inputs = f"input{'' if len(names) == 1 else 's'} {', '.join(map(repr, names))}"
    if trace.file:
        return f"{trace.file} does not hold the value of its {inputs}"
    return (
        f"the value of its {inputs} was not kept. A run keeps its values after "
        "run.keep(), or with a larger trace_budget_bytes"
    )
