"""Lists of received requests: filtered, counted, as text."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from blsnb.otlp.assembly import Outline
from blsnb.printable import counted, in_columns, printable
from blsnb.views.format import time as spelled

RATE_S = 10.0
"""Period of the rate in seconds."""
HEAD = ("at", "model", "request", "time", "calls", "errors")
_TEXTS = 3
"""Number of text columns; the columns after them are numbers."""
_MAX_TEXT = 40


class Filter(NamedTuple):
    """Which requests are listed; empty values accept all."""

    model: str = ""
    """Part of the model's name."""
    request_id: str = ""
    """Part of the request's id."""
    slower_than_ms: float = 0.0

    def accepts(self, outline: Outline) -> bool:
        """Whether a request is listed."""
        return (
            self.model.lower() in outline.model.lower()
            and self.request_id.lower() in outline.request_id.lower()
            and outline.duration_ns >= self.slower_than_ms * 1e6
        )


class Listing(NamedTuple):
    """The requests that a filter accepts, and their numbers."""

    requests: Sequence[Outline]
    """Newest first."""
    per_second: float
    """Rate of the last ten seconds; NaN if it is unknown."""
    errors: int
    slowest: Outline | None

    def __str__(self) -> str:
        parts = [counted(len(self.requests), "request")]
        if not math.isnan(self.per_second):
            parts.append(f"{self.per_second:.3g} requests/s")
        if self.errors:
            parts.append(f"{self.errors:,} with errors")
        if self.slowest is not None:
            took = spelled(self.slowest.duration_ns / 1000)
            parts.append(f"slowest {took} ({printable(self.slowest.model)})")
        return ", ".join(parts)

    def slowest_first(self) -> Listing:
        """Return the same requests in the order of their durations."""
        ordered = sorted(self.requests, key=lambda each: -each.duration_ns)
        return self._replace(requests=ordered)


def listing(
    outlines: Iterable[Outline], chosen: Filter, now_ns: int | None = None
) -> Listing:
    """Return the requests that a filter accepts.

    Parameters
    ----------
    now_ns
        Nanoseconds since 1970, for the rate; None for requests of a file.
    """
    found = [outline for outline in outlines if chosen.accepts(outline)]
    found.sort(key=lambda outline: -outline.start_ns)
    slowest = max(found, key=lambda outline: outline.duration_ns, default=None)
    per_second = math.nan
    if now_ns is not None:
        since_ns = now_ns - RATE_S * 1e9
        per_second = sum(outline.start_ns > since_ns for outline in found) / RATE_S
    return Listing(
        found,
        per_second,
        sum(outline.errors > 0 for outline in found),
        slowest,
    )


def cells(outline: Outline) -> tuple[str, ...]:
    """Return the cells of a request, in the order of `HEAD`."""
    at = time.strftime("%H:%M:%S", time.localtime(outline.start_ns // 10**9))
    thousandths = outline.start_ns // 10**6 % 1000
    return (
        f"{at}.{thousandths:03d}",
        _shortened(outline.model),
        _shortened(outline.request_id),
        spelled(outline.duration_ns / 1000),
        f"{outline.calls:,}" + ("" if outline.is_complete else "+"),
        str(outline.errors) if outline.errors else "",
    )


def table(requests: Sequence[Outline], head: bool = True) -> list[str]:
    """Return requests as lines of equal columns."""
    return in_columns([*([HEAD] if head else []), *map(cells, requests)], _TEXTS)


def _shortened(text: str) -> str:
    text = printable(text)
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"
