"""Specification of the kept values of an evaluation: how large they are."""

import math

import numpy as np
import pytest

from blsnb.evaluation.plain import Row, RowResult
from blsnb.evaluation.result.columns import ResultColumns, value_bytes


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (3.5, 8),
        (None, 8),
        ("text", 4),
        (b"ab", 2),
        ([], 0),
        ([1, "abc", [2.0]], 19),
        (np.zeros((2, 3), np.float32), 24),
        (np.array([b"a", b"bcd"], np.object_), 20),
    ],
)
def test_a_value_has_a_size_in_bytes(value, size):
    """Text counts with its characters, a number and a text of an array with 8 more."""
    assert size == value_bytes(value)


def test_small_outputs_and_short_labels_are_kept():
    """An output has at most a kilobyte, a label at most 200 characters."""
    columns = ResultColumns()
    outputs = {"SMALL": bytes(1024), "LARGE": bytes(1025)}
    labels = {"short": "a" * 200, "long": "a" * 201, "number": 3, "list": [1]}
    columns.add(Row(0, {}, labels), RowResult(0, outputs), {})

    assert {"SMALL": [bytes(1024)]} == columns.outputs
    assert {"LARGE"} == columns.left_out
    assert {"short": ["a" * 200], "number": [3]} == columns.rest


def test_columns_that_lack_a_row_are_filled():
    """A later row may have a metric, an output or a model that earlier ones lack."""
    columns = ResultColumns()
    columns.add(Row(7, {}), RowResult(7), {})
    result = RowResult(3, {"Y": 1}, model_us={"m": 2.0}, model_calls={"m": 1})
    columns.add(Row(3, {}, {"label": "b"}), result, {"iou": 0.5})
    columns.add(Row(5, {}), RowResult(5, model_calls={"m": 3}), {})

    assert [7, 3, 5] == columns.numbers.tolist()
    assert [None, 1] == columns.outputs["Y"]
    assert [None, "b"] == columns.rest["label"]
    missing, us = columns.model_us["m"]
    assert (True, 2.0) == (math.isnan(missing), us)
    missing, iou = columns.metrics["iou"]
    assert (True, 0.5) == (math.isnan(missing), iou)
    assert {"m": 4} == columns.calls


def test_a_row_that_was_interrupted_is_overwritten():
    """It does not count before its number is written."""
    columns = ResultColumns()
    columns.add(Row(0, {}), RowResult(0, latency_us=1.0), {})
    columns.latency_us.append(9.0)
    columns.add(Row(1, {}), RowResult(1, latency_us=2.0), {})

    assert [1.0, 2.0] == columns.latency_us.tolist()
