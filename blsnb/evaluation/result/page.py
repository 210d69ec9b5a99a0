"""The page of an evaluation: what its display shows, as plain columns."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from blsnb.printable import counted, listed, rounded
from blsnb.views.evaluations.histogram import Distribution
from blsnb.views.evaluations.page import EvaluationPage, Table
from blsnb.views.format import time

if TYPE_CHECKING:
    from blsnb.evaluation.result.evaluation import Evaluation

_MAX_TEXTS = 20
"""Maximum number of error texts in the table."""
_MAX_VALUES = 4
"""Maximum number of labels in a list of rows."""
_MAX_NAMED = 5
"""Maximum number of rows in a note."""


def page_of(evaluation: Evaluation) -> EvaluationPage:
    """Return the page of an evaluation."""
    return EvaluationPage(
        f"Evaluation of {evaluation.model_name}",
        list(_facts(evaluation)),
        list(_distributions(evaluation)),
        list(_tables(evaluation)),
        list(_lists(evaluation)),
        list(_notes(evaluation)),
    )


def _facts(evaluation: Evaluation) -> Iterator[str]:
    yield counted(len(evaluation), "row")
    yield f"{len(evaluation.errors):,} failed" if evaluation.errors else "none failed"
    if evaluation.duration_s > 0:
        rate = (len(evaluation) - evaluation.stored) / evaluation.duration_s
        yield f"{time(evaluation.duration_s * 1e6)}, {rounded(rate)} rows/s"
    if evaluation.stored:
        yield f"{evaluation.stored:,} executed before"
    if evaluation.interrupted:
        yield "interrupted"


def _distributions(evaluation: Evaluation) -> Iterator[Distribution]:
    if not len(evaluation):
        return
    p50, p90, p99, _ = evaluation.latency
    quantiles = f"p50 {time(p50)}, p90 {time(p90)}, p99 {time(p99)}"
    is_empty = bool(np.isnan(p50))
    summary = "no row succeeded" if is_empty else quantiles
    yield Distribution("latency", summary, evaluation.latency_us, time)
    for metric in evaluation.metrics.values():
        better = "higher" if metric.higher_is_better else "lower"
        failed = f", {len(metric.errors):,} failed" if metric.errors else ""
        interval = metric.interval
        mean = "" if math.isnan(interval.mean) else "mean "
        summary = f"{mean}{interval}, {better} is better{failed}"
        yield Distribution(metric.name, summary, metric.values, "{:.4g}".format)


def _tables(evaluation: Evaluation) -> Iterator[Table]:
    total_us = {name: np.nansum(us) for name, us in evaluation.model_us.items()}
    rows = [
        (
            name,
            f"{calls:,}",
            time(total_us.get(name, 0.0) / calls),
            f"{_share(total_us.get(name, 0.0), sum(total_us.values())):.0%}",
        )
        for name, calls in evaluation.calls.items()
    ]
    if rows:
        yield Table("Models", ("model", "calls", "own time a call", "share"), rows)
    errors = list(_errors(evaluation))
    if errors:
        more = f", the first {_MAX_TEXTS} of {len(errors):,} texts"
        title = f"Errors{more if len(errors) > _MAX_TEXTS else ''}"
        yield Table(title, ("rows", "code", "text"), errors[:_MAX_TEXTS])


def _errors(evaluation: Evaluation) -> Iterator[tuple[str, str, str]]:
    """Yield the texts of rows that failed, then of metrics, with their counts."""
    for (code, text), count in evaluation.error_counts.items():
        yield f"{count:,}", code, text
    for metric in evaluation.metrics.values():
        for text, count in Counter(metric.errors.values()).most_common():
            yield f"{count:,}", f"metric {metric.name}", text


def _lists(evaluation: Evaluation) -> Iterator[Table]:
    for text, rows in evaluation.failures.items():
        if kept := [row for row in rows if row in evaluation.runs]:
            yield _list(evaluation, f"failed: {text}", kept)
    for name, ranked in evaluation.worst.items():
        if kept := [row for row in ranked if row in evaluation.runs]:
            yield _list(evaluation, f"worst {name}", kept)
    if kept := [row for row in evaluation.slowest if row in evaluation.runs]:
        yield _list(evaluation, "slowest", kept)


def _list(evaluation: Evaluation, title: str, rows: Sequence[int]) -> Table:
    metrics = list(evaluation.metrics.values())
    labels = list(evaluation.rest.items())[:_MAX_VALUES]
    places = np.searchsorted(evaluation.numbers, rows).tolist()
    cells = [
        (
            f"{row}",
            time(float(evaluation.latency_us[at])),
            *(_value(float(metric.values[at])) for metric in metrics),
            *(str(values[at]) for _, values in labels),
        )
        for row, at in zip(rows, places, strict=True)
    ]
    names = [*(each.name for each in metrics), *(name for name, _ in labels)]
    return Table(title, ("row", "latency", *names), cells, rows)


def _notes(evaluation: Evaluation) -> Iterator[str]:
    if evaluation.left_out:
        names = ", ".join(evaluation.left_out)
        yield (
            f"Outputs of more than 1 KiB were not kept: {names}. "
            f"outputs={list(evaluation.left_out)!r} keeps them."
        )
    if evaluation.without_run:
        yield _left_out(evaluation.without_run)
    if evaluation.runs:
        yield "evaluation.run(number) returns the whole run of a listed row."


def _left_out(reasons: Mapping[int, str]) -> str:
    """Return the worst rows without a whole run, with the first one's reason."""
    rows = listed([*map(str, reasons)], _MAX_NAMED)
    reason = next(iter(reasons.values()))
    return (
        f"{counted(len(reasons), 'worst row')} without a whole run "
        f"({rows}): {reason}. evaluation.without_run has all reasons."
    )


def _value(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.4g}"


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
