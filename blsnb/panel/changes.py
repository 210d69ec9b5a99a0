"""Differences between what a page shows and what there is."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

Row = dict[str, Any]
Rows = Mapping[str, Row]
"""Rows by key: a model's name, or a run's page id."""
_ROW_NS = 10_000_000
"""Minimum pause after a message, per changed row, in nanoseconds."""
_MAX_PAUSE_NS = 500_000_000


class Changes:
    """Follows the rows that one page has received.

    Many rows that change all the time, as those of 500 runs a second, would keep the
    page busy with drawing rows too fast to read: a message of many rows is followed by
    a pause of up to half a second.

    Parameters
    ----------
    clock
        Returns a monotonic time in nanoseconds.
    """

    def __init__(self, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._clock = clock
        self._sent: Rows | None = None
        self._seq = 0
        self._next_ns = 0

    def message(self, rows: Rows) -> dict[str, Any] | None:
        """Return the keys of the message that brings the page up to date.

        Returns
        -------
        dict
            ``whole``: whether the page drops what it has; ``rows``: new and changed
            rows; ``removed``: keys of rows that are gone. None if nothing changed, or
            if it is too early.
        """
        if self._clock() < self._next_ns:
            return None
        sent, self._sent = self._sent, rows
        before = sent or {}
        changed = [row for key, row in rows.items() if before.get(key) != row]
        removed = [key for key in before if key not in rows]
        if sent is not None and not changed and not removed:
            return None
        self._seq += 1
        if sent is not None:
            pause_ns = min(len(changed) * _ROW_NS, _MAX_PAUSE_NS)
            self._next_ns = self._clock() + pause_ns
        head = {"seq": self._seq, "whole": sent is None}
        return {**head, "rows": changed, "removed": removed}
