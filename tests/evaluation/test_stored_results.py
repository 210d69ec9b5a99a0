"""Stored results of rows: what was written is read, and nothing else."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

from blsnb.evaluation.plain import RowResult
from blsnb.evaluation.stored_results import PackedResults, row_numbers, unpacked
from blsnb.trace.files.checked import NS, Malformed

RESULT = RowResult(
    0,
    {
        "Y": np.array([[1.5, 2.5]], np.float32),
        "TEXT": np.array([b"ab"], object),
        "EMPTY": np.zeros((0, 2), np.int8),
        "STREAM": [np.array([3]), np.array([4, 5])],
    },
    "text",
    "CODE",
    1.5,
    0.5,
    {"m": 0.0},
    {"m": 0},
)


@pytest.fixture
def packed():
    """The JSON of one result, and its body."""
    results = PackedResults()
    results.add(RESULT, "digest")
    return json.loads(json.dumps(results.rows)), b"".join(results.body)


def read(rows, body):
    """Return the numbers of rows, and their results."""
    return row_numbers(rows), unpacked(rows, body)


def test_results_are_read_as_they_were_written(packed):
    """Their outputs are arrays of their own."""
    rows, body = packed
    [found] = unpacked(rows, body)

    assert [(0, "digest")] == row_numbers(rows)
    stream = found.outputs.pop("STREAM")
    assert [[3], [4, 5]] == [each.tolist() for each in stream]
    assert ([[1.5, 2.5]], [b"ab"], []) == tuple(
        value.tolist() for value in found.outputs.values()
    )
    assert np.float32 == found.outputs["Y"].dtype
    found.outputs = RESULT.outputs
    assert RESULT == found


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ((0,), -1),
        ((0,), NS + 1),
        ((0,), "0"),
        ((1,), 3),
        ((2,), None),
        ((3,), 5),
        ((4,), True),
        ((4,), "1.5"),
        ((5,), None),
        ((6, "m"), "1"),
        ((7, "m"), -1),
        ((7, "m"), 1.5),
        ((8, 0, 0), 3),
        ((8, 0, 1, "datatype"), "FP33"),
        ((8, 0, 1, "shape"), [1, 3]),
        ((8, 0, 1, "shape"), [1] * 32 + [2]),
        ((8, 0, 1, "shape"), [-1, -2]),
        ((8, 0, 1, "size"), 7),
        ((8, 0, 1, "size"), 9),
        ((8, 1, 1, "size"), 7),
        ((8, 1, 1, "shape"), [2]),
        ((8, 0), ["Y"]),
    ],
    ids=str,
)
def test_other_json_is_malformed(packed, place, value):
    """A file may be damaged, or another program may have changed it."""
    rows, body = copy.deepcopy(packed)
    *path, last = place
    parent = rows[0]
    for each in path:
        parent = parent[each]
    parent[last] = value

    with pytest.raises(Malformed):
        read(rows, body)


def test_a_row_has_nine_parts(packed):
    """Neither fewer nor more."""
    [row], body = packed
    for rows in ([row[:-1]], [[*row, 0]]):
        for read in (row_numbers, lambda each: unpacked(each, body)):
            with pytest.raises(Malformed):
                read(rows)


def test_an_output_has_at_most_32_dimensions():
    """NumPy has no more."""
    results = PackedResults()
    results.add(RowResult(0, {"Y": np.zeros((1,) * 32, np.int8)}), "")
    body = b"".join(results.body)

    assert 32 == unpacked(results.rows, body)[0].outputs["Y"].ndim
    results.rows[0][8][0][1]["shape"].append(1)
    with pytest.raises(Malformed):
        unpacked(results.rows, body)


def test_a_value_of_another_type_is_refused():
    """A model's outputs are tensors, and metrics may not change them."""
    with pytest.raises(TypeError, match=r"has the type complex128$"):
        PackedResults().add(RowResult(0, {"Y": 1j}), "")
