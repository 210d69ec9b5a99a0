"""Replay: a recorded call as a request that can be made again."""

from __future__ import annotations

import contextlib
import operator
from typing import Any, Protocol

from blsnb.errors import TraceError
from blsnb.pb_utils.message import RequestMessage
from blsnb.trace.dropped import find_call, missing_values
from blsnb.trace.spans import Span, Trace

_MOST_CALLS = 8
"""Maximum number of calls listed in an error."""


class Replayer(Protocol):
    """Makes recorded requests again."""

    def replay(
        self, request: RequestMessage, client_timeout_s: float | None = None
    ) -> Any:
        """Make a recorded request on its model as it is now; return the run."""


class _Parts(Protocol):
    @property
    def requests(self) -> Replayer:
        """The part of a server that makes requests."""


class ReplayingServer(Protocol):
    """A server that can execute recorded calls again: a `blsnb.Server`."""

    @property
    def _parts(self) -> _Parts: ...


def replayer_of(server: ReplayingServer) -> Replayer:
    """Return the part of a server that makes recorded requests again.

    Raises
    ------
    TypeError
        It is not a server.
    """
    if not hasattr(server, "_parts"):
        raise TypeError(f"server={server!r} is not valid; expected a blsnb.Server")
    return server._parts.requests


def span_of(trace: Trace, call: int | str | Span) -> Span:
    """Return the call that is named: by its id, its model's name, or its span.

    Raises
    ------
    TraceError
        The trace has no such call, no longer keeps it, or has several of that name.
    TypeError
        ``call`` has another type.
    """
    if isinstance(call, str):
        return _only_call_of(trace, call)
    if isinstance(call, Span):
        return _own_span(trace, call)
    return find_call(trace, _id(call))


def _id(call: Any) -> int:
    """Return an id, which may be a NumPy integer."""
    if not isinstance(call, bool):
        with contextlib.suppress(TypeError):
            return operator.index(call)
    raise TypeError(
        "a call is named by its id, such as 3, by its model's name, or by its span, "
        f"such as run.trace.spans[3], not {call!r}"
    )


def _own_span(trace: Trace, span: Span) -> Span:
    found = find_call(trace, span.id)
    if span.request_start_ns != found.request_start_ns:
        raise TraceError(f"{_name(trace, span)} is of another run")
    return found


def _only_call_of(trace: Trace, name: str) -> Span:
    names = [model.name for model in trace.models]
    found = [span for span in trace.spans if names[span.model] == name]
    if len(found) == 1 and not _counted(trace, name):
        return found[0]
    if not found:
        known = f"it has calls of {', '.join(dict.fromkeys(names))}" if names else ""
        raise TraceError(
            f"the run has no call of {name!r}; {known or 'no calls were recorded'}"
        )
    calls = ", ".join(str(span.id) for span in found[:_MOST_CALLS])
    more = ", …" if len(found) > _MOST_CALLS else ""
    number = len(found) + _counted(trace, name)
    raise TraceError(
        f"the run has {number:,} calls of {name!r}: name one by its id, such as "
        f"{calls}{more}"
    )


def _counted(trace: Trace, name: str) -> int:
    return sum(each.calls for each in trace.folded if each.model.name == name)


def request_of(trace: Trace, span: Span) -> RequestMessage:
    """Return the request that a call was, to be made again.

    Raises
    ------
    TraceError
        It was no request, it has not ended, or an input's value is not there.
    """
    _refuse(trace, span)
    name = trace.models[span.model].name
    return RequestMessage(
        name, span.inputs, span.requested_outputs, span.request_fields
    )


def _refuse(trace: Trace, span: Span) -> None:
    """Say why a call cannot be made again, if it cannot."""
    name = _name(trace, span)
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
    gone = [f"input {ref.name!r}" for ref in span.inputs if ref.evicted]
    if gone:
        raise TraceError(f"{name} cannot be replayed: {missing_values(trace, gone)}")


def _name(trace: Trace, span: Span) -> str:
    known = span.model < len(trace.models)
    model = f" ({trace.models[span.model].name})" if known else ""
    return f"call {span.id}{model}"
