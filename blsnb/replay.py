"""Replay: a recorded call as a request that can be made again."""

from __future__ import annotations

import contextlib
import operator
from typing import Any, Protocol, runtime_checkable

from blsnb.errors import TraceError
from blsnb.pb_utils.message import RequestMessage
from blsnb.trace.spans import Span, Trace

_MOST_ROWS = 8
"""So many of them are named in an error."""


@runtime_checkable
class Asked(Protocol):
    """What makes requests: a server."""

    def ask_again(
        self, request: RequestMessage, client_timeout_s: float | None = None
    ) -> Any:
        """Make a recorded request on its model as it is now; return the run."""


def span_of(trace: Trace, call: int | str | Span) -> Span:
    """Return the call that is meant: by its row, its model's name, or its span.

    Raises
    ------
    TraceError
        The trace has no such call, or several of that name.
    TypeError
        It is nothing of these.
    """
    if isinstance(call, str):
        return _only_call_of(trace, call)
    if isinstance(call, Span):
        return _own_span(trace, call)
    return _at(trace, _row(call))


def _row(call: Any) -> int:
    """Return a row, which may be a number of NumPy's, too."""
    if not isinstance(call, bool):
        with contextlib.suppress(TypeError):
            return operator.index(call)
    raise TypeError(
        "a call is named by its row, by its model's name, or by its span, such as "
        f"run.trace.spans[3], not {call!r}"
    )


def _at(trace: Trace, row: int) -> Span:
    spans = trace.spans
    if 0 <= row < len(spans):
        return spans[row]
    if not spans:
        raise TraceError(
            f"the run has no call {row}: none was recorded. At trace_level='tensors' "
            "calls are, with their inputs"
        )
    nothing = "; -1 is what a view has when no call is selected" if row == -1 else ""
    raise TraceError(
        f"the run has no call {row}; it has rows 0 to {len(spans) - 1}{nothing}"
    )


def _own_span(trace: Trace, span: Span) -> Span:
    found = _at(trace, span.index)
    if span.request_start_ns != found.request_start_ns:
        raise TraceError(f"{_name(trace, span, span.index)} is of another run")
    return found


def _only_call_of(trace: Trace, name: str) -> Span:
    names = [model.name for model in trace.models]
    found = [span for span in trace.spans if names[span.model] == name]
    if len(found) == 1:
        return found[0]
    if not found:
        known = f"it has calls of {', '.join(dict.fromkeys(names))}" if names else ""
        raise TraceError(
            f"the run has no call of {name!r}; {known or 'none was recorded'}"
        )
    rows = ", ".join(str(span.index) for span in found[:_MOST_ROWS])
    more = ", …" if len(found) > _MOST_ROWS else ""
    raise TraceError(
        f"the run has {len(found):,} calls of {name!r}: name one by its row, "
        f"which are {rows}{more}"
    )


def request_of(trace: Trace, span: Span) -> RequestMessage:
    """Return the request that a call was, to be made again.

    Raises
    ------
    TraceError
        It was no request, it has not ended, or an input's value is not there.
    """
    _refuse(trace, span)
    fields = span.request_fields
    return RequestMessage(
        trace.models[span.model].name,
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


def _refuse(trace: Trace, span: Span) -> None:
    """Say why a call cannot be made again, if it cannot."""
    name = _name(trace, span, span.index)
    if trace.models[span.model].kind == "span":
        raise TraceError(f"{name} is a span that a user opened, and no request")
    if span.running:
        raise TraceError(f"{name} has not ended: its inputs are recorded at its end")
    # An answer without inputs is one to a request that had none.
    if not span.has_tensors and not span.error:
        raise TraceError(
            f"{name} cannot be replayed: its inputs were not recorded; at "
            "trace_level='tensors' they are"
        )
    gone = [ref.name for ref in span.inputs if ref.evicted]
    if gone:
        raise TraceError(f"{name} cannot be replayed: {_gone(trace, gone)}")


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
