"""Specification of means and their bootstrap intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from blsnb.evaluation.result.metrics import MetricColumn, mean_interval


@pytest.mark.parametrize("size", [200, 1024, 1025, 100_000])
def test_an_interval_is_that_of_the_mean(size):
    """Its width is that of theory, 3.92 standard errors, within a tenth."""
    values = np.random.default_rng(7).normal(5, 2, size)
    interval = mean_interval(values)

    assert interval.low < interval.mean < interval.high
    width = 2 * 1.96 * values.std() / math.sqrt(size)
    assert math.isclose(width, interval.high - interval.low, rel_tol=0.1)


@pytest.mark.parametrize(
    ("count", "interval"),
    [
        (1000, (21.0658331, 20.6198139, 21.5345323)),
        (1024, (21.3175066, 20.8707875, 21.7781696)),
        (1025, (21.3279285, 20.8560426, 21.7818851)),
        (3000, (36.5056394, 36.0108000, 36.9475093)),
    ],
)
def test_equal_values_have_equal_intervals(count, interval):
    """In every process: the seed is fixed, and so is the number of groups."""
    assert interval == pytest.approx(mean_interval(np.sqrt(np.arange(count))), rel=1e-8)


def test_missing_values_are_left_out():
    """Without values the interval is NaN; a single value is its own interval."""
    assert (2.0, 2.0, 2.0) == mean_interval(np.array([math.nan, 2.0]))
    assert [True] * 3 == np.isnan(mean_interval(np.array([math.nan]))).tolist()


LARGEST = np.finfo(np.float64).max


def test_values_whose_sum_overflows_have_a_mean():
    """It is among them, and its interval, too; also of many in groups."""
    both = mean_interval(np.array([LARGEST, -LARGEST] * 1000))

    assert (LARGEST,) * 3 == mean_interval(np.full(3, LARGEST))
    assert (LARGEST,) * 3 == mean_interval(np.array([LARGEST]))
    assert 0 == both.mean
    assert -LARGEST < both.low < 0 < both.high < LARGEST


def test_infinite_values_of_both_signs_have_no_mean():
    """Like missing ones."""
    assert [True] * 3 == np.isnan(
        mean_interval(np.array([math.inf, -math.inf]))
    ).tolist()


def test_an_infinite_value_makes_no_interval():
    """The mean is infinite, and so are the limits."""
    assert (math.inf,) * 3 == mean_interval(np.array([1.0, math.inf]))


def test_a_metric_is_a_line_with_its_failures():
    """The line of one without failures does not mention any."""
    values = np.array([1.0, 1.0])

    assert [
        "<MetricColumn iou: 1 [1, 1]>",
        "<MetricColumn iou: 1 [1, 1], 1 failed>",
    ] == [
        repr(MetricColumn("iou", values, errors=errors)) for errors in ({}, {2: "no"})
    ]
