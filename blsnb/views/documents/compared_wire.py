"""From a comparison to what the page reads: the run, its baseline, what differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from blsnb.trace.changes import CallChange
from blsnb.trace.comparison import TraceComparison
from blsnb.views.documents import wire
from blsnb.views.documents.buffer import Buffer
from blsnb.views.format import sendable

# A reader looks at some; the text and the kernel have them all.
_MOST_CHANGES = 2000
_MOST_TENSORS = 24
_MOST_TEXT = 400
_KEPT = ("format", "run", "start_ns", "n", "models", "errors", "columns")
"""What the page shows of a baseline."""


def page_id(comparison: TraceComparison) -> str:
    """Return the comparison's id among all that one page may show."""
    return f"{wire.page_id(comparison.this)}-vs-{wire.page_id(comparison.baseline)}"


def assemble(comparison: TraceComparison, **options: Any) -> tuple[wire.Header, Buffer]:
    """Return the header and the buffer of both runs; options as of `wire.assemble`.

    The baseline is a header of its own in the same buffer, without tensors. The column
    ``baseline`` has the id of each call there, -1 for a new call, -2 for one that is
    only counted there. The column ``missing`` has ids of the baseline.
    """
    header, buffer = wire.assemble(comparison.this, **options)
    whole, _ = wire.assemble(comparison.baseline, buffer=buffer)
    before = {name: whole[name] for name in _KEPT}
    this = [span.id for span in comparison.this.spans]
    earlier = [span.id for span in comparison.baseline.spans]
    counterparts = comparison.alignment.baseline_of
    beside = np.array([at if at < 0 else earlier[at] for at in counterparts], np.int32)
    missing = np.array([earlier[at] for at in comparison.alignment.missing], np.int32)
    header["columns"]["baseline"] = buffer.add_column(beside, "i4")
    header["columns"]["missing"] = buffer.add_column(missing, "i4")
    changes = list(comparison.changes.values())
    return header | {
        "baseline": before,
        "changed": [change.call for change in changes],
        "changes": {
            str(change.call): _change(change) for change in changes[:_MOST_CHANGES]
        },
        "unknown": {
            why: _ranges([this[row] for row in rows])
            for why, rows in comparison.unknown.items()
        },
    }, buffer


def _ranges(calls: Sequence[int]) -> list[list[int]]:
    """Return ids, in order, as the first of each stretch and the stretch's length."""
    found: list[list[int]] = []
    for call in calls:
        if found and call == sum(found[-1]):
            found[-1][1] += 1
        else:
            found.append([call, 1])
    return found


def _change(change: CallChange) -> wire.Header:
    known: wire.Header = {
        "tensors": [
            [
                each.role,
                sendable(each.difference.name, _MOST_TEXT),
                each.response,
                sendable(each.difference.words, _MOST_TEXT),
            ]
            for each in change.tensors[:_MOST_TENSORS]
        ],
        "more": max(0, len(change.tensors) - _MOST_TENSORS),
    }
    if change.error is not None:
        known["error"] = [sendable(text, _MOST_TEXT) for text in change.error]
    if change.responses is not None:
        known["responses"] = list(change.responses)
    return known
