"""Specification of the tables of pandas and Arrow."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from whole_text import whole

from blsnb.evaluation.plain import Row, RowResult
from blsnb.evaluation.result.gathering import Gathering
from blsnb.evaluation.result.metrics import MetricFunction
from blsnb.evaluation.result.tables import to_arrow, to_pandas


@pytest.fixture
def pandas():
    """Skip without pandas."""
    return pytest.importorskip("pandas", reason="pandas is not installed")


@pytest.fixture
def arrow():
    """Skip without pyarrow."""
    pytest.importorskip("pyarrow.compute", reason="pyarrow is not installed")
    return pytest.importorskip("pyarrow")


@pytest.fixture
def evaluation():
    """Return the evaluation of two rows, the first of which failed last."""
    gathering = Gathering("m", [MetricFunction("Y", lambda row, outputs: 0.5)])
    times = {"latency_us": 3000.0, "queue_us": 2000.0}
    outputs = {"Y": 7, "row": 8}
    result = RowResult(1, outputs, **times, model_us={"row": 1000.0, "error": 500.0})
    gathering.add(Row(1, {}, {"row": "b", "latency_ms": 4}), result)
    labels = {"row": "a", "error": 1, "error_code": 2}
    gathering.add(Row(0, {}, labels), RowResult(0, {}, "no memory", "INTERNAL"))
    return gathering.evaluation(duration_s=1.0)


def test_columns_of_one_name_have_their_kind_as_prefix(arrow, evaluation):
    """A label may be named as an output, a metric or a time; each has its column."""
    assert {
        "row": [0, 1],
        "row.row": ["a", "b"],
        "latency_ms": [None, 4],
        "error": [1, None],
        "error_code": [2, None],
        "Y": [None, 7],
        "output.row": [None, 8],
        "metric.Y": [None, 0.5],
        "time.latency_ms": [0.0, 3.0],
        "queue_ms": [0.0, 2.0],
        "row_ms": [None, 1.0],
        "error_ms": [None, 0.5],
        "failure.error_code": ["INTERNAL", None],
        "failure.error": ["no memory", None],
    } == evaluation.to_arrow().to_pydict()


@pytest.mark.parametrize("package", ["pandas", "pyarrow"])
def test_a_missing_package_is_named_with_its_extra(package, evaluation, monkeypatch):
    """It is the whole error."""
    monkeypatch.setitem(sys.modules, package, None)
    method = f"to_{package.removeprefix('py')}"
    expected = f"evaluation.{method}() needs {package}: pip install 'blsnb[data]'"

    with pytest.raises(ImportError, match=whole(expected)):
        getattr(evaluation, method)()


def table_of(make, values):
    """Return the only column of a table."""
    return make(range(len(values)), [("output", "Y", values)])["Y"]


def boxes(*counts):
    """Return an output with that many scores for each row; None for a failed row."""
    return [None if n is None else np.arange(n, dtype=np.float32) for n in counts]


def test_a_data_frame_has_arrays_where_rows_differ_in_size(pandas):
    """One box among rows of several is an array, too."""
    sizes = [len(y) for y in table_of(to_pandas, boxes(0, 1, 3, None)).dropna()]

    assert [0, 1, 3] == sizes


def test_an_arrow_column_has_lists_where_rows_differ_in_size(arrow):
    """One box among rows of several is a list, too."""
    column = table_of(to_arrow, boxes(0, 1, 3, None))

    assert [[], [0.0], [0.0, 1.0, 2.0], None] == column.to_pylist()


def test_an_arrow_column_of_streams_has_lists_where_responses_differ(arrow):
    """Each response of a decoupled model is a list if one of them has two elements."""
    column = table_of(to_arrow, [boxes(1, 2), boxes(1)])

    assert [[[0.0], [0.0, 1.0]], [[0.0]]] == column.to_pylist()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.uint8, np.uint64, bool])
def test_an_arrow_column_of_lists_has_the_type_of_the_output(arrow, dtype):
    """Also for numbers that no signed integer holds, and for empty outputs."""
    whole = np.issubdtype(dtype, np.integer)
    output = np.array([np.iinfo(dtype).max if whole else 1, 0], dtype)
    column = table_of(to_arrow, [output, np.empty(0, dtype), None])

    assert arrow.list_(arrow.from_numpy_dtype(dtype)) == column.type
    assert [output.tolist(), [], None] == column.to_pylist()


@pytest.mark.parametrize("shape", [(2,), (1,)], ids=["a list", "one element"])
@pytest.mark.parametrize("is_stream", [False, True])
def test_nan_of_an_output_is_a_value_in_arrow(arrow, shape, is_stream):
    """Only a failed row is null; a NaN that a model returned is counted as one."""
    output = np.full(shape, np.nan, np.float32)
    column = table_of(to_arrow, [[output] if is_stream else output, None])

    found = column.combine_chunks()
    while arrow.types.is_list(found.type):
        found = found.flatten()
    assert [True] * shape[0] == arrow.compute.is_nan(found).drop_null().to_pylist()
    assert 1 == column.null_count


def test_nan_of_a_label_or_a_metric_is_a_missing_value_in_arrow(arrow):
    """As in pandas."""
    for values in (["a", np.nan], [1.5, np.nan], np.array([1.5, np.nan])):
        assert 1 == table_of(to_arrow, values).null_count


def test_single_elements_are_values(pandas, arrow):
    """A class of each row is a column of numbers."""
    classes = [np.array([4]), np.array([[7]])]

    assert [4, 7] == table_of(to_pandas, classes).tolist()
    assert [4, 7] == table_of(to_arrow, classes).to_pylist()


@pytest.mark.parametrize("number", [2**53 + 1, 2**64 - 1])
def test_whole_numbers_are_exact_beside_a_failed_row(pandas, arrow, number):
    """A missing value does not make them floats."""
    ids = [np.array([number]), None]

    assert number == int(table_of(to_pandas, ids)[0])
    assert [number, None] == table_of(to_arrow, ids).to_pylist()


@pytest.mark.parametrize("label", ["a", b"a", 2.5, 2**70], ids=str)
def test_an_arrow_column_of_values_without_a_common_type_is_text(arrow, label):
    """A label may be a number in one row and something else in another."""
    column = table_of(to_arrow, [True, label, None])

    assert ["True", str(label), None] == column.to_pylist()


def test_a_number_too_large_for_arrow_is_text(arrow):
    """So are the other numbers of its column."""
    assert ["1", str(2**70)] == table_of(to_arrow, [1, 2**70]).to_pylist()


def test_a_text_that_is_no_unicode_is_escaped(pandas, arrow):
    """The name of a file may have bytes of another encoding, which no table holds."""
    for make in (to_pandas, to_arrow):
        table = make([0, 1], [("row", "p\udcff", ["z\udcfcrich.png", "ü.png"])])

        values = list(table["p\\udcff"])
        assert ["z\\udcfcrich.png", "ü.png"] == list(map(str, values))
