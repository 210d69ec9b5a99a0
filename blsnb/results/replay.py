"""A recorded call as a request that can be executed again."""

from __future__ import annotations

import contextlib
import operator
from typing import Any, Protocol

from blsnb.arguments import check_flags
from blsnb.errors import TraceError
from blsnb.pb_utils.message import RequestMessage
from blsnb.printable import listed
from blsnb.trace.dropped import find_call, missing_values
from blsnb.trace.excerpt import part_of
from blsnb.trace.spans import Span, Trace

_MAX_CALLS = 8
"""Maximum number of calls listed in an error."""


class Replayer(Protocol):
    """Executes recorded requests again."""

    def replay(
        self, request: RequestMessage, client_timeout_s: float | None = None
    ) -> Any:
        """Execute a recorded request on its present model; return the run."""

    def replay_lines(
        self, request: RequestMessage, client_timeout_s: float | None = None
    ) -> Any:
        """Execute it, and time the lines of its model; return the run."""


class _Parts(Protocol):
    @property
    def requests(self) -> Replayer:
        """The part of a server that executes requests."""


class ReplayingServer(Protocol):
    """A server that can execute recorded calls again: a `blsnb.Server`."""

    @property
    def _parts(self) -> _Parts: ...


def replayer_of(server: ReplayingServer) -> Replayer:
    """Return the part of a server that executes recorded requests again.

    Raises
    ------
    TypeError
        ``server`` is not a server.
    """
    if not hasattr(server, "_parts"):
        raise TypeError(f"server={server!r} is not valid; expected a blsnb.Server")
    return server._parts.requests


def execute_again(
    trace: Trace,
    call: int | str | Span | None,
    replayer: Replayer | None,
    client_timeout_s: float | None,
    *,
    debug: bool,
    lines: bool,
) -> tuple[Any, Trace]:
    """Execute a call of a trace again; return the run, and the recorded part.

    The parameters are those of `Run.replay`, which lists the errors.
    """
    check_flags(debug=debug, lines=lines)
    client_call = trace.spans[0].id if trace.spans else 0
    span = span_of(trace, client_call if call is None else call)
    request = request_of(trace, span)
    if replayer is None:
        raise TraceError(
            "this run does not belong to a server: pass one that executes the "
            "call, such as run.replay(0, server=blsnb.server())"
        )
    execute = replayer.replay_lines if lines else replayer.replay
    stops: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
    if debug:
        # Deferred: a run without a debugger does not import what steps through models.
        from blsnb.debugger.replays import stopping

        stops = stopping(request)
    with stops:
        run = execute(request, client_timeout_s)
    return run, part_of(trace, span.index)


def span_of(trace: Trace, call: int | str | Span) -> Span:
    """Return the call with an id, with a model's name, or of a span.

    Raises
    ------
    TraceError
        The trace has no such call, no longer keeps it, or has several calls of the
        model.
    TypeError
        ``call`` has another type.
    """
    if isinstance(call, str):
        return _only_call_of(trace, call)
    if isinstance(call, Span):
        return _own_span(trace, call)
    return find_call(trace, _id(call))


def _id(call: Any) -> int:
    """Return an id, which may be a NumPy integer, as an int."""
    if not isinstance(call, bool):
        with contextlib.suppress(TypeError):
            return operator.index(call)
    raise TypeError(
        f"call={call!r} is not valid; expected its id, such as 3, its model's name, or "
        "its span, such as run.trace.spans[3]"
    )


def _own_span(trace: Trace, span: Span) -> Span:
    found = find_call(trace, span.id)
    if span.request_start_ns != found.request_start_ns:
        raise TraceError(f"{_name(trace, span)} belongs to another run")
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
    calls = listed([str(span.id) for span in found], _MAX_CALLS)
    number = len(found) + _counted(trace, name)
    raise TraceError(
        f"the run has {number:,} calls of {name!r}: name one by its id, such as {calls}"
    )


def _counted(trace: Trace, name: str) -> int:
    return sum(each.calls for each in trace.folded if each.model.name == name)


def request_of(trace: Trace, span: Span) -> RequestMessage:
    """Return the request of a call, to be executed again.

    Raises
    ------
    TraceError
        The call is not a request, has not ended, or lacks the value of an input.
    """
    _refuse(trace, span)
    name = trace.models[span.model].name
    return RequestMessage(
        name, span.inputs, span.requested_outputs, span.request_fields
    )


def _refuse(trace: Trace, span: Span) -> None:
    """Raise an error if a call cannot be executed again."""
    name = _name(trace, span)
    if trace.models[span.model].kind == "span":
        raise TraceError(f"{name} is a span opened by model code, not a request")
    if span.running:
        raise TraceError(f"{name} has not ended: its inputs are recorded at its end")
    # If outputs were recorded, the request had no inputs.
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
