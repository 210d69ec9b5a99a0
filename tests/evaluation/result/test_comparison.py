"""Specification of the comparison of two evaluations."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from whole_text import whole

from blsnb.evaluation.plain import Row, RowResult
from blsnb.evaluation.result.comparison_page import comparison_page
from blsnb.evaluation.result.gathering import Gathering
from blsnb.evaluation.result.metrics import MetricFunction
from blsnb.views.evaluations.page import html


def evaluation(*outputs, metric=None, us=100.0):
    """Return an evaluation whose rows have these outputs; a text is a failure."""
    metrics = [MetricFunction("iou", metric)] if metric else []
    gathering = Gathering("m", metrics)
    for number, value in enumerate(outputs):
        result = RowResult(number, latency_us=us, model_us={"m": us})
        if isinstance(value, str):
            result.error, result.code = value, "INTERNAL"
        else:
            result.outputs = {"Y": value}
        gathering.add(Row(number, {}), result)
    return gathering.evaluation(duration_s=1.0)


def y(*values, dtype=np.float32):
    """Return an output."""
    return np.array(values, dtype)


def test_rows_that_fail_now_and_did_not_before_come_first():
    """Rows that failed before and succeed now are fixed; other failures are neither."""
    earlier = evaluation(y(1), y(1), "bad", "bad")
    comparison = evaluation(y(1), "worse", y(1), "worse").compare(earlier)

    assert ([1], [2], []) == (
        comparison.newly_failed,
        comparison.fixed,
        comparison.changed,
    )
    assert "Newly failed" == comparison_page(comparison).tables[0].title


def test_changed_rows_are_ordered_by_their_largest_deviation():
    """Other shapes come before all amounts; equal rows are absent."""
    earlier = evaluation(y(1, 2), y(1, 2), y(1, 2), y(1, 2), y(math.nan))
    later = evaluation(y(1, 2.5), y(1, 2), y(5, 2), y(1), y(math.nan))
    comparison = later.compare(earlier)

    assert [(3, math.inf), (2, 4.0), (0, 0.5)] == [
        (each.row, each.largest) for each in comparison.changed
    ]
    [changed] = comparison.differences(2)
    assert "most by 4" in changed.words
    assert [] == comparison.differences(1)


def test_a_comparison_is_a_line_with_its_metrics():
    """So is the difference of each metric."""
    earlier = evaluation(y(1), y(2), "bad", metric=lambda row, out: out["Y"][0])
    later = evaluation("bad", y(3), y(1), metric=lambda row, out: out["Y"][0])
    comparison = later.compare(earlier)

    assert (
        "<EvaluationComparison m: 1 row newly failed, 1 fixed, 1 changed, iou better>"
    ) == repr(comparison)
    assert "<MetricDifference iou: 1 [1, 1], better>" == repr(comparison.metrics["iou"])


def test_only_a_row_of_both_has_differences():
    """Its number is a whole one."""
    comparison = evaluation(y(1)).compare(evaluation(y(1), y(2)))

    with pytest.raises(KeyError, match=r"row 1 is not in both evaluations'$"):
        comparison.differences(1)
    with pytest.raises(TypeError, match=r"row=0\.5"):
        comparison.differences(0.5)


def test_equal_values_of_another_datatype_deviate_by_nothing():
    """They are listed, behind all rows whose values changed."""
    earlier = evaluation(y(1), y(1))
    later = evaluation(y(1, dtype=np.float64), y(2, dtype=np.float64))

    assert [(1, 1.0), (0, 0.0)] == [
        (each.row, each.largest) for each in later.compare(earlier).changed
    ]


def test_texts_and_responses_are_compared():
    """A decoupled model's responses are compared one by one."""
    earlier = evaluation(y(b"cat", dtype=object), [y(1), y(2)], [y(1)])
    later = evaluation(y(b"dog", dtype=object), [y(1.5), y(3)], [y(1), y(1)])
    comparison = later.compare(earlier)

    assert {0: math.inf, 1: 1.0, 2: math.inf} == {
        each.row: each.largest for each in comparison.changed
    }
    first, second = (each.words for each in comparison.differences(1))
    [table, *_] = comparison_page(comparison).tables
    assert ("1", "Y", f"{first}; {second}") in table.rows


def test_metrics_have_paired_intervals():
    """Rows differ a lot from each other, but each became a little better."""
    level = np.random.default_rng(3).normal(0, 100, 50)
    earlier = evaluation(*map(y, level), metric=lambda row, out: out["Y"][0])
    later = evaluation(*map(y, level + 0.5), metric=lambda row, out: out["Y"][0])
    difference = later.compare(earlier).metrics["iou"]

    assert "better" == difference.verdict
    assert (50, 0) == (difference.better, difference.worse)
    assert math.isclose(0.5, difference.interval.mean, rel_tol=1e-3)
    reverse = earlier.compare(later).metrics["iou"]
    assert ("worse", 0, 50) == (reverse.verdict, reverse.better, reverse.worse)
    assert "no clear difference" == later.compare(later).metrics["iou"].verdict


def test_differences_of_metrics_that_overflow_are_the_largest_number():
    """Their mean is a number; infinite values of one sign have no difference."""
    values = [1.7e308, -1.7e308, math.inf, math.inf]
    now, before = (
        evaluation(*each, metric=lambda row, out: out["Y"])
        for each in (values, [-1.7e308, 1.7e308, math.inf, 1.0])
    )
    found = now.compare(before).metrics["iou"]
    pair = evaluation(*values[:2], metric=lambda row, out: out["Y"]).compare(before)

    largest = np.finfo(np.float64).max
    assert [largest, -largest, math.inf] == found.differences.tolist()
    assert 0 == pair.metrics["iou"].interval.mean
    assert "difference of iou" in html(comparison_page(pair))


def test_only_rows_that_both_have_are_compared():
    """An interrupted evaluation has fewer rows; its page says so."""
    comparison = evaluation(y(1)).compare(evaluation(y(1), y(2)))

    assert [0] == comparison.rows.tolist()
    notes = comparison_page(comparison).notes
    assert ["1 row of the earlier evaluation not compared."] == list(notes)


def test_evaluations_without_a_common_row_are_refused():
    """The text has the numbers of rows."""
    text = (
        "the evaluations have no row in common: this one has 1 row, the earlier one 0"
    )
    with pytest.raises(ValueError, match=whole(text)):
        evaluation(y(1)).compare(evaluation())
    with pytest.raises(TypeError, match="earlier=5"):
        evaluation(y(1)).compare(5)


def test_the_page_has_failures_changes_metrics_and_times():
    """Median times stand beside each other, with their ratio."""
    metric = "{:g}".format
    earlier = evaluation(y(1), y(2), metric=lambda row, out: out["Y"][0], us=100)
    later = evaluation("bad", y(3), metric=lambda row, out: out["Y"][0], us=200)
    page = comparison_page(later.compare(earlier))

    titles = ["Newly failed", "Other outputs, the largest deviation first"]
    assert [*titles, "Metrics", "Median times"] == [each.title for each in page.tables]
    assert ("latency", "100 µs", "200 µs", metric(2)) == page.tables[-1].rows[0]
    assert "Comparison of m with an earlier evaluation" == page.heading
    assert "<table>" in html(page)


def test_the_page_says_what_is_compared():
    """Each number has its noun, and each table its head."""
    earlier = evaluation(y(1), y(1), y(1), "bad", metric=lambda row, out: out["Y"][0])
    later = evaluation(
        "worse", y(1), y(3), y(1), y(1), metric=lambda row, out: out["Y"][0]
    )
    page = comparison_page(later.compare(earlier))

    assert [
        "4 rows in both",
        "1 newly failed",
        "1 fixed",
        "1 with other outputs",
    ] == page.facts
    [distribution] = page.distributions
    iou = ["difference of iou", "1 [0, 2], no clear difference"]
    assert iou == [*distribution[:2]]
    assert "0.3333" == distribution.text(1 / 3)
    failed, changed, metrics, times = page.tables
    assert ("row", "code", "text") == failed.head
    assert [("0", "INTERNAL", "worse")] == failed.rows
    assert ("row", "output", "difference") == changed.head
    assert ("2", "Y") == changed.rows[0][:2]
    assert "most by 2" in changed.rows[0][2]
    assert metrics.head == (
        *("metric", "before", "now", "difference", "better", "worse", "verdict"),
    )
    assert ("iou", "1", "1.5") == metrics.rows[0][:3]
    assert ("1", "0", "no clear difference") == metrics.rows[0][4:]
    assert ("", "before", "now", "ratio") == times.head
    assert ["latency", "m"] == [row[0] for row in times.rows]
    assert ["1 row of this evaluation not compared."] == page.notes


def test_the_page_lists_rows_whose_later_run_was_kept():
    """Newly failed ones first; a click opens the run."""
    later = evaluation("bad", y(2), y(3), y(1), "bad")
    later = replace(later, runs={number: object() for number in (0, 2, 3)})
    page = comparison_page(later.compare(evaluation(*[y(1)] * 5)))

    assert [
        ("newly failed", ("row",), [("0",)], [0]),
        ("changed", ("row",), [("2",)], [2]),
    ] == [(each.title, each.head, each.rows, each.runs) for each in page.lists]


def test_long_tables_of_a_page_name_the_whole_number():
    """The first 20 rows are shown; the title of a whole table needs no number."""
    whole, page = (
        comparison_page(
            evaluation(*["bad"] * count).compare(evaluation(*[y(1)] * count))
        )
        for count in (20, 21)
    )

    assert "Newly failed" == whole.tables[0].title
    assert "Newly failed, 20 of 21" == page.tables[0].title
    assert 20 == len(page.tables[0].rows)
    assert [
        "No output was compared: both evaluations must keep it, by outputs=[...] or "
        "because it has at most 1 KiB."
    ] == page.notes
