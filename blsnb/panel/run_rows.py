"""Rows of the recorded runs of a server, and of the lines that models logged."""

from __future__ import annotations

import time

from blsnb.engine.model_log import ModelLog
from blsnb.panel.changes import Row
from blsnb.printable import printable
from blsnb.trace.events import CallFlag
from blsnb.trace.run_record import RunRecord
from blsnb.views.format import sendable

_MAX_LINES = 1000
"""Maximum number of log lines that a page receives."""
_MAX_TEXT = 2000
"""Maximum number of bytes of a log line."""
_UNIX_NS = time.time_ns() - time.monotonic_ns()
"""Offset from monotonic time to time of day, in nanoseconds."""
_KEY = tuple[bool, bool, int]


class RunRows:
    """Reads the recorded runs; the calls of an ended run are counted once."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[_KEY, Row]] = {}

    def read(self, records: list[RunRecord]) -> dict[str, Row]:
        """Return a row for each run that has calls, by page id, oldest first."""
        known, self._known = self._known, {}
        for record in records:
            name = page_id_of(record)
            if not name:
                continue
            key = record.ended, record.pinned, len(record.calls)
            found = known.get(name)
            self._known[name] = (
                found if found and found[0] == key else (key, run_row(name, record))
            )
        return {name: row for name, (_, row) in self._known.items()}


def page_id_of(record: RunRecord) -> str:
    """Return the page id of a recorded run; empty if it has no call yet."""
    if not record.calls:
        return ""
    return f"{printable(record.id)}-{record.calls[0].request_start_ns:x}"


def run_row(name: str, record: RunRecord) -> Row:
    """Return what the panel shows of a run."""
    calls, folded = list(record.calls), record.folded.listed()
    start_ns = calls[0].request_start_ns
    end_ns = max(call.request_end_ns for call in calls)
    failed = sum(bool(call.flags & CallFlag.ERROR) for call in calls)
    return {
        "run": name,
        "id": record.id,
        "model": calls[0].model.name,
        "at_ms": (start_ns + _UNIX_NS) // 1_000_000,
        "duration_us": max(0, end_ns - start_ns) / 1000 if record.ended else None,
        "calls": len(calls) + sum(each.calls for each in folded),
        "errors": failed + sum(each.errors for each in folded),
        "error": sendable(calls[0].error, _MAX_TEXT),
        "cell": record.cell,
        "pinned": record.pinned,
    }


class LogRows:
    """Reads the newest log lines; each has its number."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._count = 0

    def read(self, log: ModelLog) -> dict[str, Row]:
        """Return a row for each of the newest lines, by number, oldest first."""
        count = log.count
        new = min(count - self._count, _MAX_LINES)
        if new:
            lines = list(log.lines)[-new:]
            first = count - len(lines)
            added = {
                str(first + n): _log_row(first + n, *x) for n, x in enumerate(lines)
            }
            self._rows = dict([*self._rows.items(), *added.items()][-_MAX_LINES:])
            self._count = count
        return self._rows


def _log_row(number: int, model: str, level: str, text: str) -> Row:
    row = {"number": str(number), "model": model, "level": level}
    return row | {"text": sendable(text, _MAX_TEXT)}
