"""What the page shows of devices: bytes copied in columns, the rest by call id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from blsnb.trace.facts import copied_bytes, copied_ns
from blsnb.trace.spans import Span
from blsnb.views.documents.buffer import Buffer
from blsnb.views.format import sendable

_NAME = 200
_MOST = 100
"""So many copies of one call are listed; all are summed up."""


def columns(spans: Sequence[Span], buffer: Buffer) -> dict[str, list[Any]]:
    """Put the sums of the copies into a buffer; nothing where nothing was copied."""
    if not any(span.copies for span in spans):
        return {}
    size = np.array([copied_bytes(span.copies) for span in spans], np.float64)
    took = np.array([copied_ns(span.copies) / 1000 for span in spans], np.float32)
    return {
        "copy_bytes": buffer.add_column(size, "f8"),
        "copy_us": buffer.add_column(took, "f4"),
    }


def tables(spans: Sequence[Span], start_ns: int) -> dict[str, dict[str, Any]]:
    """Return copies, and what calls used of a device, by call id; empty for none."""
    copies: dict[str, Any] = {}
    uses: dict[str, Any] = {}
    for span in spans:
        if span.copies:
            copies[str(span.id)] = [
                [
                    (copy.ns - start_ns) / 1000,
                    copy.duration_ns / 1000,
                    sendable(copy.tensor, _NAME),
                    copy.byte_size,
                    copy.source,
                    copy.target,
                    copy.hostile,
                ]
                for copy in span.copies[:_MOST]
            ]
        if span.device_use is not None:
            use = span.device_use
            uses[str(span.id)] = [
                use.device,
                use.compute_ns / 1000,
                use.in_use_bytes,
                use.peak_bytes,
            ]
    found = {"copies": copies, "device_use": uses}
    return {name: table for name, table in found.items() if table}
