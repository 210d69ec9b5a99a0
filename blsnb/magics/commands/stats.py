"""``%triton stats``: Triton's statistics, its metrics page, and batches."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.display import display

from blsnb.magics import card
from blsnb.magics import default_server as default
from blsnb.magics.commands.usages import usage_of
from blsnb.magics.line import Line
from blsnb.printable import counted

if TYPE_CHECKING:
    from blsnb.engine.metrics.batching import ModelBatching

FORMS = ("--batching", "--json", "--metrics")
_PHASES = ("queue", "compute_input", "compute_infer", "compute_output")
_BAR_WIDTH = 24
"""Maximum width of a histogram's bar in characters."""
_NO_BATCHER = "no batcher: each request is executed alone"


def stats(line: Line) -> None:
    """Print or show statistics."""
    words = line.words
    forms = [word for word in words if word in FORMS]
    names = [word for word in words if word not in forms]
    if max(len(names), len(forms)) > 1 or any(n.startswith("-") for n in names):
        raise UsageError(f"usage: {usage_of('stats')}")
    statistics = default.server().statistics(*names)
    match forms:
        case ["--metrics"]:
            print(_metrics(*names))
        case ["--json"]:
            print(json.dumps(statistics, indent=1))
        case ["--batching"]:
            server = default.server()
            for row in statistics["model_stats"]:
                counts = server.batching(row["name"], version=int(row["version"]))
                display(batching_tables(counts), raw=True)
        case _:
            display(statistics_table(statistics), raw=True)


def _metrics(name: str | None = None) -> str:
    """Return the metrics page, or its lines about one model."""
    text = default.server().metrics().rstrip("\n")
    if name is None:
        return text
    label = f'{{model="{name}",'
    return "\n".join(row for row in text.splitlines() if label in row)


def statistics_table(statistics: Mapping[str, Any]) -> dict[str, str]:
    """Return Triton's statistics as a table of counts and mean microseconds."""
    head = ("model", "version", "succeeded", "failed", "executions", "mean µs")
    rows = [_statistics_row(row) for row in statistics["model_stats"]]
    return card.grid((*head, *(f"{name} µs" for name in _PHASES)), rows)


def _statistics_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    durations = row["inference_stats"]
    return (
        row["name"],
        row["version"],
        f"{durations['success']['count']:,}",
        f"{durations['fail']['count']:,}",
        f"{row['execution_count']:,}",
        _mean(durations["success"]),
        *(_mean(durations[name]) for name in _PHASES),
    )


def _mean(duration: Mapping[str, int]) -> str:
    if not duration["count"]:
        return "-"
    return f"{duration['ns'] / duration['count'] / 1e3:,.1f}"


def batching_tables(counts: ModelBatching) -> dict[str, str]:
    """Return histograms of a model's batches, and the reasons with their counts."""
    batches, requests = counts.execution_count, counts.request_count
    mean = f", {requests / batches:.3g} in each" if batches else ""
    title = (
        f"{counts.name} version {counts.version} ({counts.batcher or _NO_BATCHER}): "
        f"{counted(requests, 'request')} in {counted(batches, 'execution')}{mean}"
    )
    tables = [_histogram("batch size", counts.sizes)]
    if counts.sizes != counts.requests:
        tables.append(_histogram("requests", counts.requests))
    tables += [
        _reasons(("why a batch was sent", "executions"), counts.sent_because),
        _reasons(("why a request was left out", "times"), counts.not_joined_because),
    ]
    shown = [table for table in tables if table is not None]
    return {
        "text/html": f"<p>{escape(title)}</p>"
        + "".join(table["text/html"] for table in shown),
        "text/plain": "\n\n".join([title, *(table["text/plain"] for table in shown)]),
    }


def _histogram(name: str, counts: Mapping[int, int]) -> dict[str, str] | None:
    most = max(counts.values(), default=0)
    rows = [
        (f"{size:,}", f"{count:,}", "█" * max(1, round(_BAR_WIDTH * count / most)))
        for size, count in counts.items()
    ]
    return card.grid((name, "executions", ""), rows) if rows else None


def _reasons(head: tuple[str, str], counts: Mapping[str, int]) -> dict[str, str] | None:
    rows = [(cause, f"{count:,}") for cause, count in counts.items()]
    return card.grid(head, rows) if rows else None
