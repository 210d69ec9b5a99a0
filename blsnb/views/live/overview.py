"""A server at one moment, and its table as text and HTML."""

from __future__ import annotations

import math
from html import escape
from typing import Any, NamedTuple

from blsnb.printable import in_columns, printable
from blsnb.views.format import time

_DASH = "-"
_LEFT = 'style="text-align:left"'
_RIGHT = 'style="text-align:right"'
_TEXTS = 3
"""Number of text columns; the columns after them are numbers."""
HEAD = (
    "model",
    "version",
    "state",
    "busy",
    "queue",
    "wait",
    "batch",
    "requests/s",
    "p50",
    "p95",
    "p99",
    "requests",
    "failed",
)
_MAX_REASON = 200


class ModelRow(NamedTuple):
    """One model version.

    Parameters
    ----------
    busy, instances
        Number of instances that execute, and of all instances; an ensemble has none.
    waiting
        Number of requests in the queue.
    per_second
        Rate of completed requests in the last seconds; NaN if unknown.
    p50_us, p95_us, p99_us
        Latencies of the last requests; NaN without requests.
    requests, failed
        Number of requests since the model was loaded.
    failed_lately
        Number of failed requests in the last seconds.
    queued_us, batch
        Mean time in the queue, and mean number of inferences of an execution, in the
        last seconds; NaN if there were none.
    """

    name: str
    version: int
    state: str
    reason: str = ""
    busy: int = 0
    instances: int = 0
    waiting: int = 0
    per_second: float = math.nan
    p50_us: float = math.nan
    p95_us: float = math.nan
    requests: int = 0
    failed: int = 0
    failed_lately: int = 0
    p99_us: float = math.nan
    queued_us: float = math.nan
    batch: float = math.nan


class Overview(NamedTuple):
    """A server: requests in flight, and a row for each model version.

    Parameters
    ----------
    in_flight
        Number of client requests in flight.
    per_second
        Rate of completed requests of all models in the last seconds; NaN if unknown.
    history
        Rates of the last readings, oldest first.
    looks
        Number of readings; a page marks its numbers as old if this stops growing.
    ended
        Whether there will be no further reading.
    """

    in_flight: int
    per_second: float
    rows: tuple[ModelRow, ...]
    history: tuple[float, ...] = ()
    looks: int = 0
    ended: bool = False

    def __str__(self) -> str:
        table = in_columns([HEAD, *map(_line, self.rows)], _TEXTS)
        return "\n".join([printable(self.caption), *table])

    @property
    def waiting(self) -> int:
        """Number of requests in the queues of all models."""
        return sum(row.waiting for row in self.rows)

    @property
    def failed(self) -> int:
        """Number of failed requests of all models since they were loaded."""
        return sum(row.failed for row in self.rows)

    @property
    def numbers(self) -> Overview:
        """The values of the table alone, for comparisons."""
        return self._replace(history=(), looks=0)

    @property
    def caption(self) -> str:
        """The server in one line."""
        return (
            f"{self.in_flight:,} in flight, {_rate(self.per_second)} requests/s, "
            f"{self.waiting:,} waiting, {self.failed:,} failed"
        )

    def html(self) -> str:
        """Return the table for a page without scripts."""
        head = "".join(
            f'<th scope="col" {_side(column)}>{name}</th>'
            for column, name in enumerate(HEAD)
        )
        body = "".join(f"<tr>{_cells(_line(row))}</tr>" for row in self.rows)
        return (
            f"<table><caption>{self.caption}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def wire(self) -> dict[str, Any]:
        """Return the overview as JSON values; unknown numbers are None."""
        whole = self._asdict() | {"waiting": self.waiting, "failed": self.failed}
        whole["rows"] = [_finite(row._asdict()) for row in self.rows]
        whole["history"] = [round(rate, 1) for rate in self.history]
        return _finite(whole)


def _line(row: ModelRow) -> tuple[str, ...]:
    reason = printable(row.reason.strip().partition("\n")[0])[:_MAX_REASON]
    return (
        printable(row.name),
        str(row.version),
        f"{row.state}: {reason}" if reason else row.state,
        f"{row.busy} of {row.instances}" if row.instances else _DASH,
        f"{row.waiting:,}",
        _time(row.queued_us),
        _rate(row.batch),
        _rate(row.per_second),
        _time(row.p50_us),
        _time(row.p95_us),
        _time(row.p99_us),
        f"{row.requests:,}",
        f"{row.failed:,}",
    )


def _cells(line: tuple[str, ...]) -> str:
    return "".join(
        f"<td {_side(column)}>{escape(cell)}</td>" for column, cell in enumerate(line)
    )


def _side(column: int) -> str:
    return _LEFT if column < _TEXTS else _RIGHT


def _rate(per_second: float) -> str:
    if math.isnan(per_second):
        return _DASH
    return f"{per_second:,.0f}" if per_second >= 99.95 else f"{per_second:.3g}"


def _time(us: float) -> str:
    return _DASH if math.isnan(us) else time(us)


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    """Replace numbers that JSON lacks, and text that UTF-8 cannot encode."""
    return {key: _sendable(value) for key, value in values.items()}


def _sendable(value: Any) -> Any:
    match value:
        case float():
            return round(value, 2) if math.isfinite(value) else None
        case str():
            return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return value
