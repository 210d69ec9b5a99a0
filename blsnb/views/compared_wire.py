"""From a comparison to what the page reads: the run, its baseline, what differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from blsnb.trace.changes import CallChange
from blsnb.trace.comparison import TraceComparison
from blsnb.views import wire
from blsnb.views.buffer import Buffer
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

    The baseline is a header of its own in the same buffer, without tensors; the
    column ``baseline`` has of each call its row there, -1 for one that is new, -2 for
    one that is only counted there. The column ``missing`` has rows of the baseline.
    """
    header, buffer = wire.assemble(comparison.this, **options)
    whole, _ = wire.assemble(comparison.baseline, buffer=buffer)
    before = {name: whole[name] for name in _KEPT}
    beside = np.array(comparison.alignment.baseline_of, np.int32)
    missing = np.array(comparison.alignment.missing, np.int32)
    header["columns"]["baseline"] = buffer.add_column(beside, "i4")
    header["columns"]["missing"] = buffer.add_column(missing, "i4")
    changes = list(comparison.changes.values())
    return header | {
        "baseline": before,
        "changed": [change.row for change in changes],
        "changes": {
            str(change.row): _change(change) for change in changes[:_MOST_CHANGES]
        },
        "unknown": {why: _ranges(rows) for why, rows in comparison.unknown.items()},
    }, buffer


def _ranges(rows: Sequence[int]) -> list[list[int]]:
    """Return rows, in order, as the first of each stretch and how many it has."""
    found: list[list[int]] = []
    for row in rows:
        if found and row == sum(found[-1]):
            found[-1][1] += 1
        else:
            found.append([row, 1])
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
