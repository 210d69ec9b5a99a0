"""The part of a page's data that a comparison adds: baseline and changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from blsnb.trace.comparison import CallChange, TraceComparison
from blsnb.views.documents.buffer import Buffer
from blsnb.views.format import sendable

# A page contains a part of the changes; the text and the kernel have all.
_MAX_CHANGES = 2000
_MAX_TENSORS = 24
_MAX_TEXT = 400


def baseline_columns(
    comparison: TraceComparison, buffer: Buffer
) -> dict[str, list[Any]]:
    """Write the counterparts of calls into a buffer, and return their columns.

    ``baseline`` has the id of each call there, -1 for a new call, -2 for one that is
    only counted there. ``missing`` has ids of the baseline.
    """
    ids = [span.id for span in comparison.baseline.spans]
    counterparts = comparison.alignment.baseline_of
    beside = [row if row < 0 else ids[row] for row in counterparts]
    missing = [ids[row] for row in comparison.alignment.missing]
    return {
        "baseline": buffer.add_column(np.array(beside, np.int32), "i4"),
        "missing": buffer.add_column(np.array(missing, np.int32), "i4"),
    }


def changes(comparison: TraceComparison) -> dict[str, Any]:
    """Return the ids of changed calls, some changes, and calls not compared.

    ``counts`` are those of the whole runs, of which a page may have a part only.
    """
    found = list(comparison.changes.values())
    ids = [span.id for span in comparison.this.spans]
    return {
        "counts": list(comparison.counts),
        "changed": [change.call for change in found],
        "changes": {
            str(change.call): _change(change) for change in found[:_MAX_CHANGES]
        },
        "unknown": {
            why: _ranges(ids[row] for row in rows)
            for why, rows in comparison.unknown.items()
        },
    }


def _ranges(calls: Iterable[int]) -> list[list[int]]:
    """Return ascending ids as ranges: the first id, and the number of ids."""
    found: list[list[int]] = []
    for call in calls:
        if found and call == sum(found[-1]):
            found[-1][1] += 1
        else:
            found.append([call, 1])
    return found


def _change(change: CallChange) -> dict[str, Any]:
    known: dict[str, Any] = {
        "tensors": [
            [
                each.role,
                sendable(each.difference.name, _MAX_TEXT),
                each.response,
                sendable(each.difference.words, _MAX_TEXT),
            ]
            for each in change.tensors[:_MAX_TENSORS]
        ],
        "more": max(0, len(change.tensors) - _MAX_TENSORS),
    }
    if change.request:
        known["request"] = [
            [sendable(text, _MAX_TEXT) for text in said]
            for said in change.request[:_MAX_TENSORS]
        ]
    if change.error is not None:
        known["error"] = [sendable(text, _MAX_TEXT) for text in change.error]
    if change.responses is not None:
        known["responses"] = list(change.responses)
    return known
