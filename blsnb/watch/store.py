"""Received spans, within limits: the oldest are dropped and counted."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import NamedTuple

from blsnb.otlp.assembly import Outline, assemble_one, outlines
from blsnb.otlp.decoding import ReceivedSpan
from blsnb.printable import counted
from blsnb.trace.spans import Trace

MAX_SPANS = 100_000
"""Default number of spans kept: a few minutes of a busy server."""
MAX_BYTES = 256 << 20
"""Default bytes of memory for spans, approximately."""


class StoreCounts(NamedTuple):
    """What a store has received, and what it has dropped."""

    received: int = 0
    """Number of spans."""
    rejected: int = 0
    """Number of malformed spans."""
    kept: int = 0
    dropped: int = 0
    """Number of spans dropped because of a limit, the oldest first."""
    skipped: int = 0
    """Number of lines of a file that are no spans in JSON, or too long."""

    def __str__(self) -> str:
        text = f"{counted(self.received, 'span')} received"
        if self.dropped:
            text += f", the oldest {self.dropped:,} dropped"
        if self.rejected:
            text += f", {self.rejected:,} malformed"
        if self.skipped:
            text += f", {counted(self.skipped, 'line')} skipped"
        return text


class _Group:
    """The spans of one OpenTelemetry trace."""

    __slots__ = ("outlines", "size", "spans")

    def __init__(self) -> None:
        self.spans: dict[str, ReceivedSpan] = {}
        self.size = 0
        self.outlines: tuple[Outline, ...] | None = None


class SpanStore:
    """The latest spans, by OpenTelemetry trace. Thread-safe.

    Parameters
    ----------
    max_spans, max_bytes
        Maximum number of spans, and approximate bytes of memory for them.
    """

    def __init__(self, max_spans: int = MAX_SPANS, max_bytes: int = MAX_BYTES) -> None:
        self._max_spans = max_spans
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._groups: dict[str, _Group] = {}
        """In the order in which they began to arrive."""
        self._bytes = 0
        self._counts = StoreCounts()

    @property
    def counts(self) -> StoreCounts:
        """The numbers of spans so far."""
        return self._counts

    def add(self, spans: Iterable[ReceivedSpan], rejected: int = 0) -> None:
        """Add spans, and drop the oldest beyond the limits.

        Parameters
        ----------
        rejected
            Number of malformed spans beside them.
        """
        with self._lock:
            received, kept = 0, self._counts.kept
            for span in spans:
                received += 1
                kept += self._put(span)
            before = self._counts
            self._counts = before._replace(
                received=before.received + received,
                rejected=before.rejected + rejected,
                kept=kept,
            )
            self._drop()

    def skip_line(self) -> None:
        """Count a line of a file that is no spans in JSON, or too long."""
        with self._lock:
            skipped = self._counts.skipped + 1
            self._counts = self._counts._replace(skipped=skipped)

    def _put(self, span: ReceivedSpan) -> bool:
        """Keep a span; return whether it is new."""
        group = self._groups.get(span.trace_id)
        if group is None:
            group = self._groups[span.trace_id] = _Group()
        known = group.spans.get(span.span_id)
        group.spans[span.span_id] = span
        group.outlines = None
        growth = span.size - (0 if known is None else known.size)
        group.size += growth
        self._bytes += growth
        return known is None

    def _drop(self) -> None:
        kept, dropped = self._counts.kept, 0
        while kept > self._max_spans or self._bytes > self._max_bytes:
            if len(self._groups) == 1:
                self._drop_span(next(iter(self._groups.values())))
                gone = 1
            else:
                group = self._groups.pop(next(iter(self._groups)))
                self._bytes -= group.size
                gone = len(group.spans)
            kept -= gone
            dropped += gone
        if dropped:
            self._counts = self._counts._replace(
                kept=kept, dropped=self._counts.dropped + dropped
            )

    def _drop_span(self, group: _Group) -> None:
        """Drop the oldest span of a client that uses one trace for all requests."""
        span = group.spans.pop(next(iter(group.spans)))
        group.size -= span.size
        self._bytes -= span.size
        group.outlines = None

    def outlines(self) -> list[Outline]:
        """Return the client requests, in the order in which they began to arrive."""
        with self._lock:
            groups = list(self._groups.values())
            for group in groups:
                if group.outlines is None:
                    group.outlines = tuple(outlines(group.spans.values()))
        return [outline for group in groups for outline in group.outlines or ()]

    def trace(self, run_id: str) -> Trace | None:
        """Return the trace of a client request; None if it is no longer kept."""
        with self._lock:
            group = self._groups.get(run_id.partition("-")[0])
            spans = [] if group is None else list(group.spans.values())
        return assemble_one(spans, run_id)
