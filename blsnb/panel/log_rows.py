"""Rows of the lines that models logged."""

from __future__ import annotations

from blsnb.engine.model_log import ModelLog, ModelLogLine
from blsnb.panel.changes import Row
from blsnb.printable import printable
from blsnb.trace.run_record import RunRecord
from blsnb.views.format import sendable

_MAX_LINES = 1000
"""Maximum number of log lines that a page receives."""
_MAX_TEXT = 2000
"""Maximum number of bytes of a log line."""


class LogRows:
    """Reads the newest log lines; each has its number."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._count = 0

    def read(self, log: ModelLog, records: list[RunRecord]) -> dict[str, Row]:
        """Return a row for each of the newest lines, by number, oldest first.

        Parameters
        ----------
        records
            The recorded runs, which name the call of a line.
        """
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
                str(first + n): _row(first + n, line, ids)
                for n, line in enumerate(lines)
            }
            self._rows = dict([*self._rows.items(), *added.items()][-_MAX_LINES:])
            self._count = count
        return self._rows


def _row(number: int, line: ModelLogLine, ids: dict[int, str]) -> Row:
    """Return the row of a line; its call is empty if its run is not recorded."""
    run = ids.get(line.run_start_ns, "")
    return {
        "number": str(number),
        "model": line.model,
        "level": line.level,
        "call": f"run {printable(run)} call {line.call_id}" if run else "",
        "text": sendable(line.text, _MAX_TEXT),
    }
