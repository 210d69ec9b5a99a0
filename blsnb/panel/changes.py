"""Differences between what a page shows and what there is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Row = dict[str, Any]
Rows = Mapping[str, Row]
"""Rows by key: a model's name, or a run's page id."""


class Changes:
    """Follows the rows that one page has received."""

    def __init__(self) -> None:
        self._sent: Rows | None = None
        self._seq = 0

    def message(self, rows: Rows) -> dict[str, Any] | None:
        """Return the keys of the message that brings the page up to date.

        Returns
        -------
        dict
            ``whole``: whether the page drops what it has; ``rows``: new and changed
            rows; ``removed``: keys of rows that are gone. None if nothing changed.
        """
        sent, self._sent = self._sent, rows
        before = sent or {}
        changed = [row for key, row in rows.items() if before.get(key) != row]
        removed = [key for key in before if key not in rows]
        if sent is not None and not changed and not removed:
            return None
        self._seq += 1
        head = {"seq": self._seq, "whole": sent is None}
        return {**head, "rows": changed, "removed": removed}
