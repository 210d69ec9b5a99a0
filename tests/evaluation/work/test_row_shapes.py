"""Rows as requests: the axis of batches, and rows that are stacked."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from google.protobuf import text_format
from whole_text import whole

from blsnb.evaluation.plain import Row
from blsnb.evaluation.work.row_shapes import RowRequest, RowShapes
from blsnb.model.config import ModelConfig, schema

X = 'input { name: "X" data_type: TYPE_FP32 dims: [ -1 ] }'
BOTH = f'{X} input {{ name: "MASK" data_type: TYPE_BOOL dims: [ 1 ] }}'


def config(most: int = 8, inputs: str = X) -> ModelConfig:
    """Return the configuration of a model with a largest batch; 0 for no batches."""
    text = f'name: "m" backend: "python" max_batch_size: {most} {inputs}'
    return ModelConfig.of(text_format.Parse(text, schema().ModelConfig()))


def rows_of(values: Iterable[object]) -> list[Row]:
    """Return a row for each value of the input."""
    return [Row(number, {"X": value}) for number, value in enumerate(values)]


def x(*values: float) -> np.ndarray:
    """Return a value without the axis of batches."""
    return np.array(values, np.float32)


def numbers(found: Iterable[RowRequest]) -> list[list[int]]:
    """Return the numbers of the rows of each request."""
    return [[row.number for row in request.rows] for request in found]


def test_rows_are_stacked_up_to_a_number():
    """Each gets the axis of batches; the last request has what is left."""
    found = [*RowShapes(config(), 2).requests(rows_of(x(n, n) for n in range(5)))]

    assert [[0, 1], [2, 3], [4]] == numbers(found)
    assert [(1, 1), (1, 1), (1,)] == [each.sizes for each in found]
    assert [True] * 3 == [each.added_axis for each in found]
    assert [[2, 2], [3, 3]] == found[1].inputs["X"].tolist()
    assert [[4, 4]] == found[2].inputs["X"].tolist()


def test_rows_are_stacked_up_to_the_largest_batch():
    """A row may be a batch itself."""
    batches = [np.zeros((size, 2), np.float32) for size in (2, 1, 2, 2)]
    found = [*RowShapes(config(3), 8).requests(rows_of(batches))]

    assert [[0, 1], [2], [3]] == numbers(found)
    assert ((2, 1), False) == (found[0].sizes, found[0].added_axis)
    assert [(3, 2), (2, 2), (2, 2)] == [each.inputs["X"].shape for each in found]


OTHERS = {
    "length": x(1, 2, 3),
    "type": np.array([1, 2], np.float64),
    "list": [1.0, 2.0],
    "axis": x(1, 2)[None],
    "ragged": [[1.0], [2.0, 3.0]],
    "scalar": 1.0,
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_rows_of_other_shapes_are_not_stacked(other):
    """Equal ones before and after it are, each among themselves."""
    values = [x(1, 2), x(1, 2), other, x(1, 2), x(1, 2)]

    found = RowShapes(config(), 8).requests(rows_of(values))

    assert [[0, 1], [2], [3, 4]] == numbers(found)


def test_rows_with_other_inputs_are_not_stacked():
    """An optional input may be missing; the order of inputs does not count."""
    mask = np.array([True])
    inputs = [
        {"X": x(1, 1), "MASK": mask},
        {"MASK": mask, "X": x(2, 2)},
        {"X": x(3)},
        {},
        {"X": x(4)[None], "MASK": np.ones((2, 1), bool)},
    ]
    rows = [Row(number, each) for number, each in enumerate(inputs)]
    found = [*RowShapes(config(inputs=BOTH), 8).requests(rows)]

    assert [[0, 1], [2], [3], [4]] == numbers(found)
    assert [[1, 1], [2, 2]] == found[0].inputs["X"].tolist()
    assert [[True], [True]] == found[0].inputs["MASK"].tolist()


def test_batches_of_one_have_the_axis_too():
    """A model may allow no larger ones."""
    found = [*RowShapes(config(1), 8).requests(rows_of([x(1), x(2)]))]

    assert [[[1]], [[2]]] == [each.inputs["X"].tolist() for each in found]


def test_rows_of_a_sequence_stay_alone():
    """Its state is that of one request after the other."""
    rows = [row._replace(sequence=7) for row in rows_of([x(1), x(2)])]

    assert [[0], [1]] == numbers(RowShapes(config(), 8).requests(rows))


def test_lists_are_stacked_as_lists():
    """They take the datatype of the configuration, which an array has already."""
    [found] = RowShapes(config(), 8).requests(rows_of([[1.0, 2.0], [3.0, 4.0]]))

    assert [[1.0, 2.0], [3.0, 4.0]] == found.inputs["X"]


@pytest.mark.parametrize("made", [None, config(0)], ids=["unknown", "no batches"])
def test_rows_of_a_model_without_batches_are_sent_as_they_are(made):
    """Nothing is stacked, and nothing is added."""
    values = [x(1), x(2)]
    found = [*RowShapes(made, 8).requests(rows_of(values))]

    assert [[0], [1]] == numbers(found)
    assert [True, True] == [
        each.inputs["X"] is value for each, value in zip(found, values, strict=True)
    ]
    assert [{"Y": [1]}] == found[0].row_outputs({"Y": [1]})


def test_outputs_of_a_batch_are_divided_among_its_rows():
    """Each is a copy: a part would keep the whole batch alive."""
    batches = [np.zeros((size, 2), np.float32) for size in (2, 1)]
    [found] = RowShapes(config(), 8).requests(rows_of(batches))
    whole_batch = np.array([[1], [2], [3]])
    first, second = found.row_outputs({"Y": whole_batch})

    assert ([[1], [2]], [[3]]) == (first["Y"].tolist(), second["Y"].tolist())
    assert [None, None] == [each["Y"].base for each in (first, second)]
    assert [{}, {}] == found.row_outputs({})


def test_the_added_axis_is_removed_from_outputs():
    """Also from each response of a stream; an output of two elements has none."""
    [found] = RowShapes(config()).requests(rows_of([x(1)]))
    [outputs] = found.row_outputs(
        {"Y": np.array([[1, 2]]), "STREAM": [np.array([[3]])], "TWO": np.array([4, 5])}
    )

    assert [1, 2] == outputs["Y"].tolist()
    assert [[3]] == [each.tolist() for each in outputs["STREAM"]]
    assert [4, 5] == outputs["TWO"].tolist()


@pytest.mark.parametrize("output", [np.zeros((3, 1)), np.array(1.0)], ids=np.shape)
def test_an_output_of_another_batch_size_is_an_error(output):
    """It cannot be told which row a part belongs to."""
    [found] = RowShapes(config(), 8).requests(rows_of([x(1), x(2)]))
    text = (
        f"output 'Y' has shape {list(output.shape)} for a batch of 2: it cannot be "
        "divided among the rows"
    )

    with pytest.raises(ValueError, match=whole(text)):
        found.row_outputs({"Y": output})
