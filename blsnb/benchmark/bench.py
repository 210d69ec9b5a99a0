"""Measurements of a model under load, as rows, a table and a figure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from blsnb.benchmark.samples import LoadRow, failures
from blsnb.printable import counted, in_columns, printable, rounded
from blsnb.views.format import time

_HEAD = ("clients", "requests/s", "p50", "p90", "p95", "p99")
_OPEN_HEAD = ("wanted/s", "sent/s", "requests/s", "p50", "p90", "p95", "p99")
_TAIL = ("queue", "compute", "batch", "requests", "failed")
_OPEN_TAIL = ("in flight", *_TAIL)
_STREAM = ("first p50", "first p99")
_DASH = "-"
_LEFT = "unanswered at the end of their level, and not counted"


@dataclass(frozen=True)
class Bench:
    """The measurements of `blsnb.Server.bench`.

    Parameters
    ----------
    model_name
        The measured model.
    trace_level
        Trace level of the requests.
    stream
        Whether the model is decoupled. Latencies then extend to the last response.
    rows
        One for each level: numbers of requests, latencies in microseconds.
    interrupted
        Whether Ctrl-C ended the measurement, during the last row.
    left_out
        Rates that were not measured, since a lower one was not held.
    arrivals
        When requests were sent in an open loop: ``"poisson"``, ``"constant"`` or
        ``"recorded"``; empty for a closed loop.
    """

    model_name: str
    trace_level: str
    stream: bool
    rows: tuple[LoadRow, ...]
    interrupted: bool = False
    left_out: tuple[float, ...] = ()
    arrivals: str = ""

    def __repr__(self) -> str:
        best = max(self.rows, key=lambda row: row.throughput, default=None)
        said = [counted(sum(row.requests for row in self.rows), "request")]
        failed = sum(row.failed for row in self.rows)
        if failed:
            said.append(f"{failed:,} failed")
        if best is not None:
            clients = f" with {counted(best.concurrency, 'client')}"
            said.append(
                f"{rounded(best.throughput)}/s{'' if self.arrivals else clients}"
            )
        if self.interrupted:
            said.append("interrupted")
        return printable(f"<Bench {self.model_name}: {', '.join(said)}>")

    def __str__(self) -> str:
        head, rows = self.table()
        lines = in_columns([head, *rows], texts=0)
        return "\n".join(map(printable, [self.caption, *lines, *self.errors]))

    @property
    def caption(self) -> str:
        """The model and the conditions, in a line."""
        end = "; interrupted" if self.interrupted else ""
        loop = "closed loop"
        if self.arrivals:
            loop = f"open loop, {self.arrivals} arrivals, latency from intended times"
        last = ", latency to the last response" if self.stream else ""
        return f"{self.model_name}: {loop}{last}, trace level {self.trace_level}{end}"

    @property
    def errors(self) -> list[str]:
        """Error texts of failed requests with their counts, and rates not held."""
        unfinished = sum(row.unfinished for row in self.rows)
        texts = failures(self.rows)
        if unfinished:
            texts.append(f"{unfinished:,} {_LEFT}")
        return [*texts, *self._not_held()]

    def _not_held(self) -> list[str]:
        """Return a text for each rate that was not reached, and those left out."""
        texts = [
            f"{row.rate:g} requests/s were not held: {rounded(row.sent_rate)}/s were "
            f"sent, {rounded(row.throughput)}/s were answered, and {row.growth:,} more "
            "were in flight at the end"
            # The rate of a level that Ctrl-C ended is that of too short a time.
            for row in self.rows[: -1 if self.interrupted else None]
            if not row.is_held
        ]
        if self.left_out:
            rates = ", ".join(f"{rate:g}" for rate in self.left_out)
            texts.append(f"not measured, as a lower rate was not held: {rates}")
        return texts

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return the head of a table, and a line of texts for each level."""
        head, tail = (_OPEN_HEAD, _OPEN_TAIL) if self.arrivals else (_HEAD, _TAIL)
        first = _STREAM if self.stream else ()
        return (*head, *first, *tail), [self._line(row) for row in self.rows]

    def _line(self, row: LoadRow) -> tuple[str, ...]:
        load = (rounded(row.rate), rounded(row.sent_rate)) if self.arrivals else ()
        clients = (f"{row.concurrency:,}",)
        first = (row.first_p50_us, row.first_p99_us) if self.stream else ()
        return (
            *(load or clients),
            rounded(row.throughput),
            _interval(row.p50_us, row.p50_error_us),
            *map(_time, (row.p90_us, row.p95_us)),
            _interval(row.p99_us, row.p99_error_us),
            *map(_time, first),
            *(clients if load else ()),
            *map(_time, (row.queue_us, row.compute_us)),
            _batches(row),
            f"{row.requests:,}",
            f"{row.failed:,}",
        )

    def plot(self) -> Any:
        """Return a matplotlib figure: throughput and latencies by concurrency."""
        from blsnb.views.figures import load_figure

        return load_figure.plot(self.caption, [row._asdict() for row in self.rows])


def _time(us: float) -> str:
    return _DASH if math.isnan(us) else time(us)


def _interval(us: float, error_us: float) -> str:
    """Return a latency with its confidence interval, if there is one."""
    return _time(us) if math.isnan(error_us) else f"{time(us)} ± {time(error_us)}"


def _batches(row: LoadRow) -> str:
    """Return the mean batch size, and the maximum if it is larger."""
    if not row.batch_sizes:
        return _DASH
    if len(row.batch_sizes) == 1:
        return f"{row.batch_size:g}"
    return f"{row.batch_size:.3g} (up to {max(row.batch_sizes)})"
