"""The page of a comparison of two evaluations, as plain columns."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from blsnb.evaluation.result.columns import Floats
from blsnb.evaluation.result.comparison import EvaluationComparison
from blsnb.printable import counted
from blsnb.views.evaluations.histogram import Distribution
from blsnb.views.evaluations.page import EvaluationPage, Table
from blsnb.views.format import time

_MAX_ROWS = 20
"""Maximum number of rows of a table."""


def comparison_page(comparison: EvaluationComparison) -> EvaluationPage:
    """Return the page of a comparison."""
    this, earlier = comparison.this.model_name, comparison.earlier.model_name
    other = "an earlier evaluation" if this == earlier else earlier
    return EvaluationPage(
        f"Comparison of {this} with {other}",
        list(_facts(comparison)),
        list(_distributions(comparison)),
        list(_tables(comparison)),
        list(_lists(comparison)),
        list(_notes(comparison)),
    )


def _facts(comparison: EvaluationComparison) -> Iterator[str]:
    yield f"{counted(len(comparison.rows), 'row')} in both"
    yield f"{len(comparison.newly_failed):,} newly failed"
    yield f"{len(comparison.fixed):,} fixed"
    yield f"{len(comparison.changed):,} with other outputs"


def _distributions(comparison: EvaluationComparison) -> Iterator[Distribution]:
    for each in comparison.metrics.values():
        summary = f"{each.interval}, {each.verdict}"
        yield Distribution(
            f"difference of {each.name}", summary, each.differences, "{:.4g}".format
        )


def _tables(comparison: EvaluationComparison) -> Iterator[Table]:
    errors = comparison.this.errors
    failed = comparison.newly_failed
    if failed:
        rows = [(f"{row}", *errors[row]) for row in failed[:_MAX_ROWS]]
        yield Table(_title("Newly failed", len(failed)), ("row", "code", "text"), rows)
    changed = comparison.changed
    if changed:
        rows = [
            (f"{each.row}", each.output, _words(comparison, each.row))
            for each in changed[:_MAX_ROWS]
        ]
        title = _title("Other outputs, the largest deviation first", len(changed))
        yield Table(title, ("row", "output", "difference"), rows)
    if comparison.metrics:
        yield _metrics(comparison)
    yield _latencies(comparison)


def _lists(comparison: EvaluationComparison) -> Iterator[Table]:
    """Yield the rows whose later run was kept."""
    kept = comparison.this.runs
    failed = [row for row in comparison.newly_failed if row in kept][:_MAX_ROWS]
    changed = [each.row for each in comparison.changed if each.row in kept]
    for title, rows in (("newly failed", failed), ("changed", changed[:_MAX_ROWS])):
        if rows:
            yield Table(title, ("row",), [(f"{row}",) for row in rows], rows)


def _words(comparison: EvaluationComparison, row: int) -> str:
    return "; ".join(each.words for each in comparison.differences(row))


def _metrics(comparison: EvaluationComparison) -> Table:
    head = ("metric", "before", "now", "difference", "better", "worse", "verdict")
    rows = []
    for name, each in comparison.metrics.items():
        means = [
            comparison.earlier.metrics[name].interval.mean,
            comparison.this.metrics[name].interval.mean,
        ]
        rows.append(
            (
                name,
                *(f"{mean:.4g}" for mean in means),
                str(each.interval),
                f"{each.better:,}",
                f"{each.worse:,}",
                each.verdict,
            )
        )
    return Table("Metrics", head, rows)


def _latencies(comparison: EvaluationComparison) -> Table:
    this, earlier = comparison.this, comparison.earlier
    columns = {"latency": (this.latency_us, earlier.latency_us)}
    for name in this.model_us:
        if name in earlier.model_us:
            columns[name] = this.model_us[name], earlier.model_us[name]
    rows = []
    for name, pair in columns.items():
        now, before = map(_median, comparison.paired(*pair))
        ratio = now / before if before else math.nan
        rows.append((name, time(before), time(now), f"{ratio:.3g}"))
    return Table("Median times", ("", "before", "now", "ratio"), rows)


def _median(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else 0.0


def _notes(comparison: EvaluationComparison) -> Iterator[str]:
    for name, each in (("this", comparison.this), ("the earlier", comparison.earlier)):
        alone = len(each.numbers) - len(comparison.rows)
        if alone:
            yield f"{counted(alone, 'row')} of {name} evaluation not compared."
    if not comparison.compared_outputs:
        yield (
            "No output was compared: both evaluations must keep it, by outputs=[...] "
            "or because it has at most 1 KiB."
        )


def _title(text: str, count: int) -> str:
    return f"{text}, {_MAX_ROWS} of {count:,}" if count > _MAX_ROWS else text
