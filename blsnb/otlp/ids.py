"""Ids of traces and spans; contexts of clients."""

from __future__ import annotations

import hashlib
import re

from blsnb.trace.events import Call
from blsnb.trace.facts import TraceContext
from blsnb.trace.run_record import RunRecord

_TRACEPARENT = r"(?i)00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}"
_MAX_STATE = 512
"""Maximum number of characters of a ``tracestate``, as its specification requires."""
REQUEST = "request"
"""Key of the span of a client request; those of calls are their ids."""


def context_of(traceparent: str | None, state: str | None) -> TraceContext | None:
    """Return the context that a client sent; None if it is missing or invalid.

    Triton ignores the sampling flag: it traces such a request at any rate.
    """
    found = re.fullmatch(_TRACEPARENT, (traceparent or "").strip())
    if found is None:
        return None
    trace_id, parent_id = found[1].lower(), found[2].lower()
    if not int(trace_id, 16) or not int(parent_id, 16):
        return None
    return TraceContext(trace_id, parent_id, (state or "")[:_MAX_STATE])


class Ids:
    """Ids of one run: the same ones whenever it is exported.

    Parameters
    ----------
    run_id, start_ns
        Id of the run, and start of its first call: unique in a process.
    context
        The context that the client sent.
    """

    def __init__(
        self, run_id: str, start_ns: int, context: TraceContext | None
    ) -> None:
        self._run = f"{run_id}-{start_ns:x}"
        self.trace_id = _digest(self._run, 16) if context is None else context.trace_id

    def span_id(self, key: int | str, part: str = "") -> str:
        """Return the id of a call's span.

        Parameters
        ----------
        key
            Id of the call, or `REQUEST`.
        part
            A part of the call, such as ``"compute"``.
        """
        return _digest(f"{self.trace_id} {self._run} {key} {part}", 8)


def carrier(run: RunRecord, call: Call) -> dict[str, str] | None:
    """Return the context that a call passes on; None if its run is not exported.

    References
    ----------
    server: src/tracer.cc, TraceManager::Trace::PrepareTraceContext
    """
    context = run.context
    if not run.is_exported or context is None or not run.calls:
        return None
    ids = Ids(run.id, run.calls[0].request_start_ns, context)
    carried = {"traceparent": f"00-{ids.trace_id}-{ids.span_id(call.id)}-01"}
    return carried | ({"tracestate": context.state} if context.state else {})


def _digest(text: str, size: int) -> str:
    return hashlib.blake2b(text.encode(), digest_size=size).hexdigest()
