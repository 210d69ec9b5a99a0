"""Bench: measurements of a model under load, as rows, a table and a figure."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from blsnb.benchmark.samples import Row
from blsnb.printable import printable
from blsnb.views.format import counted, time

_HEAD = ("clients", "requests/s", "p50", "p90", "p95", "p99")
_TAIL = ("queue", "compute", "batch", "requests", "failed")
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
    """

    model_name: str
    trace_level: str
    stream: bool
    rows: tuple[Row, ...]
    interrupted: bool = False

    def __repr__(self) -> str:
        best = max(self.rows, key=lambda row: row.throughput, default=None)
        said = [counted(sum(row.requests for row in self.rows), "request")]
        failed = sum(row.failed for row in self.rows)
        if failed:
            said.append(f"{failed:,} failed")
        if best is not None:
            clients = counted(best.concurrency, "client")
            said.append(f"{_few(best.throughput)}/s with {clients}")
        if self.interrupted:
            said.append("interrupted")
        return printable(f"<Bench {self.model_name}: {', '.join(said)}>")

    def __str__(self) -> str:
        head, rows = self.table()
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        lines = (
            "  ".join(
                cell.rjust(width) for cell, width in zip(row, widths, strict=True)
            )
            for row in (head, *rows)
        )
        return "\n".join(map(printable, [self.caption, *lines, *self.errors]))

    @property
    def caption(self) -> str:
        """The model and the conditions, in a line."""
        end = "; interrupted" if self.interrupted else ""
        last = ", latency to the last response" if self.stream else ""
        return (
            f"{self.model_name}: closed loop{last}, trace level {self.trace_level}{end}"
        )

    @property
    def errors(self) -> list[str]:
        """Error texts of failed requests, each with its count."""
        total: Counter[str] = Counter()
        for row in self.rows:
            total.update(row.errors)
        unfinished = sum(row.unfinished for row in self.rows)
        texts = [f"{count:,} failed: {text}" for text, count in total.most_common()]
        return [*texts, f"{unfinished:,} {_LEFT}"] if unfinished else texts

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return the head of a table, and a line of texts for each level."""
        first = _STREAM if self.stream else ()
        return (*_HEAD, *first, *_TAIL), [self._line(row) for row in self.rows]

    def _line(self, row: Row) -> tuple[str, ...]:
        latencies = [row.p50_us, row.p90_us, row.p95_us, row.p99_us]
        if self.stream:
            latencies += [row.first_p50_us, row.first_p99_us]
        return (
            f"{row.concurrency:,}",
            _few(row.throughput),
            *map(_time, (*latencies, row.queue_us, row.compute_us)),
            _batches(row),
            f"{row.requests:,}",
            f"{row.failed:,}",
        )

    def plot(self) -> Any:
        """Return a matplotlib figure: throughput and latencies by concurrency."""
        from blsnb.views.figures import load_figure

        return load_figure.plot(self.caption, [row._asdict() for row in self.rows])


def _few(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _time(us: float) -> str:
    return _DASH if math.isnan(us) else time(us)


def _batches(row: Row) -> str:
    """Return the mean batch size, and the maximum if it is larger."""
    if not row.batch_sizes:
        return _DASH
    if len(row.batch_sizes) == 1:
        return f"{row.batch_size:g}"
    return f"{row.batch_size:.3g} (up to {max(row.batch_sizes)})"
