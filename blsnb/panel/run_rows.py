"""Rows of the recorded runs of a server, and of the lines that models logged."""

from __future__ import annotations

import time
from heapq import nlargest

from blsnb.engine.model_log import ModelLog, ModelLogLine
from blsnb.panel.changes import Row
from blsnb.printable import printable
from blsnb.trace.events import Call, CallFlag
from blsnb.trace.run_record import RunRecord
from blsnb.views.format import sendable

_MAX_LINES = 1000
"""Maximum number of log lines that a page receives."""
_MAX_TEXT = 2000
"""Maximum number of bytes of an error, and of a log line."""
_UNIX_NS = time.time_ns() - time.monotonic_ns()
"""Offset from monotonic time to time of day, in nanoseconds."""
_BARS = 24
"""Maximum number of calls in a thumbnail: the longest ones."""
_ERROR = int(CallFlag.ERROR)
_LEVELS = 4
"""Maximum number of levels of calls in a thumbnail."""
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
    # Integers: flags take ten times as long, which a run of many calls would notice.
    failed = sum(int(call.flags) & _ERROR != 0 for call in calls)
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
        "bars": _bars(calls, start_ns, end_ns) if record.ended else [],
    }


def _bars(calls: list[Call], start_ns: int, end_ns: int) -> list[list[float]]:
    """Return start, length and level of the longest calls, and whether each failed.

    Start and length are fractions of the run.
    """
    whole_ns = max(1, end_ns - start_ns)
    bars = []
    for call in nlargest(_BARS, calls, key=_duration_ns):
        level = _level(call)
        if level < _LEVELS:
            start = (call.request_start_ns - start_ns) / whole_ns
            length = _duration_ns(call) / whole_ns
            failed = int(bool(call.flags & CallFlag.ERROR))
            bars.append([round(start, 3), round(length, 3), level, failed])
    return bars


def _duration_ns(call: Call) -> int:
    return max(0, call.request_end_ns - call.request_start_ns)


def _level(call: Call) -> int:
    """Return the number of callers above a call, up to the maximum."""
    level = 0
    while call.parent is not None and level < _LEVELS:
        call, level = call.parent, level + 1
    return level


class LogRows:
    """Reads the newest log lines; each has its number."""

    def __init__(self) -> None:
        self._log: ModelLog | None = None
        self._rows: dict[str, Row] = {}
        self._count = 0

    def read(self, log: ModelLog, records: list[RunRecord]) -> dict[str, Row]:
        """Return a row for each of the newest lines, by number, oldest first.

        Parameters
        ----------
        records
            The recorded runs, which name the call of a line.
        """
        if log is not self._log:
            # Another server's.
            self._log, self._rows, self._count = log, {}, 0
        count = log.count
        new = min(count - self._count, _MAX_LINES)
        if new:
            lines = list(log.lines)[-new:]
            first = count - len(lines)
            ids = {
                each.calls[0].request_start_ns: each.id
                for each in records
                if each.calls
            }
            added = {
                str(first + n): _log_row(first + n, line, ids)
                for n, line in enumerate(lines)
            }
            self._rows = dict([*self._rows.items(), *added.items()][-_MAX_LINES:])
            self._count = count
        return self._rows


def _log_row(number: int, line: ModelLogLine, ids: dict[int, str]) -> Row:
    """Return the row of a line; its call is empty if its run is not recorded."""
    run = ids.get(line.run_start_ns, "")
    return {
        "number": str(number),
        "model": line.model,
        "level": line.level,
        "call": f"run {printable(run)} call {line.call_id}" if run else "",
        "text": sendable(line.text, _MAX_TEXT),
    }
