"""Specification of the page of an evaluation."""

from __future__ import annotations

import pytest

from blsnb.evaluation.plain import Row, RowResult
from blsnb.evaluation.result.gathering import Gathering
from blsnb.evaluation.result.metrics import MetricFunction
from blsnb.evaluation.result.page import page_of
from blsnb.views.evaluations.page import EvaluationPage

LARGE = bytes(2000)


@pytest.fixture
def page() -> EvaluationPage:
    """The page of three rows, the last of which fails; runs are numbers here."""
    score = MetricFunction("score", lambda row, outputs: outputs["Y"])
    gathering = Gathering("m", [score])
    for number, label in enumerate(("cat", "dog", "cow")):
        result = RowResult(number, latency_us=100.0 * (number + 1), run=number)
        result.model_us, result.model_calls = {"m": 30.0, "a": 10.0}, {"m": 1, "a": 2}
        if label == "cow":
            result.error, result.code = "no memory", "INTERNAL"
        else:
            result.outputs = {"Y": number, "LARGE": LARGE}
        gathering.add(Row(number, {}, {"label": label}), result)
    return page_of(gathering.evaluation(duration_s=2.0))


def test_a_page_has_the_counts_and_the_rate(page):
    """Large outputs are named, with what keeps them."""
    assert "Evaluation of m" == page.heading
    assert ["3 rows", "1 failed", "2 s, 1.5 rows/s"] == page.facts
    assert [
        "Outputs of more than 1 KiB were not kept: LARGE. outputs=['LARGE'] keeps "
        "them.",
        "evaluation.run(number) returns the whole run of a listed row.",
    ] == page.notes


def test_a_page_without_a_duration_has_no_rate():
    """A clock may stand still for an empty data set."""
    empty = Gathering("m").evaluation(duration_s=0.0)

    assert ["0 rows", "none failed"] == page_of(empty).facts


def test_a_page_has_the_quantiles_and_the_means(page):
    """Those of the latency are of rows that succeeded."""
    assert [
        ("latency", "p50 100 µs, p90 200 µs, p99 200 µs"),
        ("score", "mean 0.5 [0, 1], higher is better"),
    ] == [(each.name, each.summary) for each in page.distributions]
    assert ["333 µs", "333.3"] == [each.text(1000 / 3) for each in page.distributions]


def test_a_page_has_the_time_of_each_model_and_the_errors(page):
    """The share is that of the time of all models."""
    models, errors = page.tables

    assert ["Models", "Errors"] == [each.title for each in page.tables]
    assert ("model", "calls", "own time a call", "share") == models.head
    assert [("m", "3", "30 µs", "75%"), ("a", "6", "5 µs", "25%")] == models.rows
    assert ("rows", "code", "text") == errors.head
    assert [("1", "INTERNAL", "no memory")] == errors.rows


def test_a_page_has_the_reasons_for_which_metrics_failed():
    """A metric without any value has no mean."""
    broken = MetricFunction("broken", lambda row: 1.0, higher_is_better=False)
    gathering = Gathering("m", [broken])
    for number in range(2):
        gathering.add(Row(number, {}, {}), RowResult(number, outputs={"Y": number}))
    page = page_of(gathering.evaluation(duration_s=2.0))

    assert "has no value, lower is better, 2 failed" == page.distributions[-1].summary
    [(count, code, text)] = page.tables[-1].rows
    assert ("2", "metric broken") == (count, code)
    assert text.startswith("TypeError: ")


def test_a_page_lists_the_rows_with_whole_runs(page):
    """Failures first, then the worst of each metric, then the slowest."""
    head = ("row", "latency", "score", "label")
    cat, dog = ("0", "100 µs", "0", "cat"), ("1", "200 µs", "1", "dog")
    cow = ("2", "300 µs", "-", "cow")

    assert [head] * 3 == [each.head for each in page.lists]
    assert [
        ("failed: no memory", [cow]),
        ("worst score", [cat, dog]),
        ("slowest", [cow, dog, cat]),
    ] == [(each.title, each.rows) for each in page.lists]
    assert [[2], [0, 1], [2, 1, 0]] == [list(each.runs) for each in page.lists]
