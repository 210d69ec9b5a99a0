"""Rows of DataFrames, Arrow data and Parquet files."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from peak_memory import measure
from whole_text import whole

from blsnb.evaluation.rows.source import row_source

INPUTS = ("X", "TEXT", "IMAGE")
COLUMNS = {
    "X": [1.5, 2.5, 3.5],
    "TEXT": ["a", None, "c"],
    "IMAGE": [[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[9, 10], [11, 12]]],
    "label": [1, None, 3],
}


def plain(value):
    """Return arrays as lists."""
    return value.tolist() if isinstance(value, np.ndarray) else value


def expected(columns=COLUMNS):
    """Return the rows of columns; a missing input is left out."""
    rows = [
        dict(zip(columns, values, strict=True))
        for values in zip(*columns.values(), strict=True)
    ]
    return [
        (
            {name: row[name] for name in INPUTS if row.get(name) is not None},
            {name: row[name] for name in row if name not in INPUTS},
        )
        for row in rows
    ]


def found(rows):
    """Return the rows of a source as plain values."""
    return [
        ({name: plain(value) for name, value in row.inputs.items()}, dict(row.rest))
        for row in row_source(rows, INPUTS)
    ]


@pytest.fixture
def pandas():
    """Skip without pandas."""
    return pytest.importorskip("pandas", reason="pandas is not installed")


@pytest.fixture
def polars():
    """Skip without polars."""
    return pytest.importorskip("polars", reason="polars is not installed")


@pytest.fixture
def arrow():
    """Skip without pyarrow."""
    return pytest.importorskip("pyarrow", reason="pyarrow is not installed")


@pytest.fixture
def parquet(arrow):
    """Return the module that writes Parquet files."""
    import pyarrow.parquet

    return pyarrow.parquet


def test_rows_of_a_pandas_frame(pandas):
    """Missing strings and integers are left out of the inputs."""
    frame = pandas.DataFrame(COLUMNS).astype({"label": "Int64"})

    assert expected() == found(frame)
    assert 3 == row_source(frame, INPUTS).total


def test_nan_is_a_value_of_a_float_column(pandas):
    """A tensor may have it."""
    [row] = row_source(pandas.DataFrame({"X": [float("nan")]}), INPUTS)

    assert np.isnan(row.inputs["X"])


def test_arrays_in_a_pandas_frame_stay_what_they_are(pandas):
    """An image in a cell is not copied."""
    image = np.zeros((2, 2), np.uint8)
    [row] = row_source(pandas.DataFrame({"IMAGE": [image]}), INPUTS)

    assert row.inputs["IMAGE"] is image


def test_two_columns_of_one_name_are_refused(pandas):
    """A row would lose one of them."""
    frame = pandas.DataFrame([[1, 2]], columns=["X", "X"])

    text = "the DataFrame has several columns 'X'; expected one"
    with pytest.raises(ValueError, match=whole(text)):
        row_source(frame, INPUTS)


def test_two_arrow_columns_of_one_name_are_refused(arrow, parquet, tmp_path):
    """A table, a batch, a reader and a file have the same error."""
    column = arrow.array([1.0])
    table = arrow.Table.from_arrays([column, column], names=["X", "X"])
    path = tmp_path / "rows.parquet"
    parquet.write_table(table, path)

    text = "has several columns 'X'; expected one"
    for rows in (table, table.to_batches()[0], table.to_reader()):
        with pytest.raises(ValueError, match=whole(f"the Arrow table {text}")):
            row_source(rows, INPUTS)
    with pytest.raises(ValueError, match=whole(f"{str(path)!r} {text}")):
        row_source(path, INPUTS)


def test_rows_of_a_polars_frame(polars):
    """Nested columns are lists or arrays."""
    assert expected() == found(polars.DataFrame(COLUMNS))


def test_columns_of_arrays_in_a_polars_frame(polars):
    """Arrays of a fixed shape and lists of numbers become NumPy arrays."""
    images = np.arange(12, dtype=np.int16).reshape(3, 2, 2)
    frame = polars.DataFrame({"IMAGE": images, "X": [[1.0], [], [2.0, 3.0]]})

    rows = [row.inputs for row in row_source(frame, INPUTS)]

    assert images.tolist() == [row["IMAGE"].tolist() for row in rows]
    assert np.dtype(np.int16) == rows[0]["IMAGE"].dtype
    assert [[1.0], [], [2.0, 3.0]] == [row["X"].tolist() for row in rows]


def test_rows_of_an_arrow_table(arrow):
    """A slice of a table, a batch and a reader have the same rows."""
    table = arrow.table(COLUMNS)

    assert expected() == found(table)
    assert expected()[1:] == found(table.slice(1))
    [batch] = table.to_batches()
    assert expected() == found(batch)
    assert expected() == found(table.to_reader())


def test_nested_arrow_columns_become_arrays_of_their_own_type(arrow):
    """Rows may differ in shape, and one may be missing."""
    table = arrow.table(
        {
            "X": arrow.array([[1.0], None, [2.0, 3.0]], arrow.list_(arrow.float32())),
            "IMAGE": [[[1, 2]], [[3, 4], [5, 6]], [[7], [8, 9]]],
            "label": arrow.array(["a", "b", "a"]).dictionary_encode(),
        }
    )

    rows = list(row_source(table, INPUTS))

    assert np.dtype(np.float32) == rows[0].inputs["X"].dtype
    assert [True, False, True] == ["X" in row.inputs for row in rows]
    assert [[3, 4], [5, 6]] == rows[1].inputs["IMAGE"].tolist()
    ragged = rows[2].inputs["IMAGE"]
    assert [[7], [8, 9]] == [part.tolist() for part in ragged]
    assert ["a", "b", "a"] == [row.rest["label"] for row in rows]


NARROW = [np.float16, np.float32, np.int8, np.uint64, np.bool_]
HOLES = [[1, None], [1, 0], None, [1]]
"""Rows of a list column, one of which lacks an element."""


def dtypes(rows):
    """Return the datatypes of an input; None for a list."""
    return [getattr(row.inputs["X"], "dtype", None) for row in row_source(rows, INPUTS)]


@pytest.mark.parametrize("dtype", NARROW)
def test_a_missing_element_leaves_other_lists_their_type(arrow, dtype):
    """In lists of an Arrow table only the list that lacks an element has none."""
    kind = arrow.from_numpy_dtype(dtype)
    lists = [row and [None if n is None else dtype(n) for n in row] for row in HOLES]
    rows = list(
        row_source(arrow.table({"X": arrow.array(lists, arrow.list_(kind))}), "X")
    )

    assert [[1, None], [1, 0], None, [1]] == [
        plain(row.inputs.get("X")) for row in rows
    ]
    assert [dtype, dtype] == [rows[n].inputs["X"].dtype for n in (1, 3)]


def test_missing_numbers_of_an_arrow_column_are_left_out(arrow):
    """The others are exact, also those that no float holds."""
    big = 2**53 + 1
    rows = row_source(arrow.table({"X": [big, None, 0]}), INPUTS)

    assert [big, None, 0] == [row.inputs.get("X") for row in rows]


def test_encoded_elements_of_an_arrow_column_keep_their_type(arrow):
    """Dictionaries and runs are ways to store them."""
    import pyarrow.compute as compute

    elements = arrow.array([1, 1, 2], arrow.float32())
    lists = arrow.ListArray.from_arrays([0, 2, 3], elements.dictionary_encode())
    runs = compute.run_end_encode(elements)

    assert [np.float32, np.float32] == dtypes(arrow.table({"X": lists}))
    assert [1, 1, 2] == [
        row.inputs["X"] for row in row_source(arrow.table({"X": runs}), INPUTS)
    ]


def test_arrow_lists_in_a_pandas_frame_keep_their_type(arrow, pandas):
    """A missing row is left out."""
    kind = pandas.ArrowDtype(arrow.list_(arrow.int8()))
    column = pandas.Series([[1, 2], None, [3]], dtype=kind)
    first, second, third = row_source(pandas.DataFrame({"X": column}), INPUTS)

    assert [np.int8, np.int8] == [row.inputs["X"].dtype for row in (first, third)]
    assert {} == second.inputs


@pytest.mark.parametrize("shape", [2, (1, 2)])
def test_a_missing_element_of_a_polars_frame_is_no_nan(polars, shape):
    """NumPy would have floats in all rows."""
    rows = np.array([[1, None], [3, 4]], object).reshape(2, *np.atleast_1d(shape))
    column = polars.Series(rows.tolist(), dtype=polars.Array(polars.Int8, shape))
    found = [
        row.inputs["X"] for row in row_source(polars.DataFrame({"X": column}), "X")
    ]

    assert [rows.tolist()[0], np.int8] == [found[0], found[1].dtype]


def test_lists_of_lists_in_a_polars_frame_keep_their_type(polars):
    """As in an Arrow table; those of several shapes are lists of arrays."""
    kind = polars.List(polars.List(polars.Int16))
    column = polars.Series([[[1, 2], [3, 4]], [[1], [2, 3]], []], dtype=kind)
    whole, ragged, empty = (
        row.inputs["X"] for row in row_source(polars.DataFrame({"X": column}), INPUTS)
    )

    assert (np.int16, (2, 2)) == (whole.dtype, whole.shape)
    assert [np.int16, np.int16] == [part.dtype for part in ragged]
    assert [] == empty


def test_tensors_of_an_arrow_table(arrow):
    """Columns of the type fixed_shape_tensor keep their shape."""
    images = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    column = arrow.FixedShapeTensorArray.from_numpy_ndarray(images)

    rows = list(row_source(arrow.table({"IMAGE": column}), INPUTS))

    assert images.tolist() == [row.inputs["IMAGE"].tolist() for row in rows]


def test_missing_tensors_of_an_arrow_table_are_left_out(arrow):
    """The others are flat: only a whole column has a shape."""
    kind = arrow.fixed_shape_tensor(arrow.int8(), [2, 2])
    storage = arrow.array([[1, 2, 3, 4], None], arrow.list_(arrow.int8(), 4))
    column = arrow.ExtensionArray.from_storage(kind, storage)

    first, second = row_source(arrow.table({"IMAGE": column}), INPUTS)

    assert ([1, 2, 3, 4], np.int8) == (
        first.inputs["IMAGE"].tolist(),
        first.inputs["IMAGE"].dtype,
    )
    assert {} == second.inputs


def test_rows_of_parquet_files(parquet, arrow, tmp_path):
    """A folder of files has the rows of each, sorted by name."""
    table = arrow.table(COLUMNS)
    parquet.write_table(table.slice(0, 2), tmp_path / "0.parquet", row_group_size=1)
    parquet.write_table(table.slice(2), tmp_path / "1.pq")

    assert expected() == found(tmp_path)
    assert expected()[:2] == found(str(tmp_path / "0.parquet"))
    assert expected()[2:] == found(tmp_path / "1.pq")
    assert 3 == row_source(tmp_path, INPUTS).total


def test_the_digest_of_a_parquet_file_follows_its_values(parquet, arrow, tmp_path):
    """A copy has the same digest."""
    digests = []
    for name, value in (("a", 1), ("b", 1), ("c", 2)):
        parquet.write_table(arrow.table({"X": [value]}), tmp_path / name)
        path = (tmp_path / name).rename(tmp_path / f"{name}.parquet")
        digests.append(row_source(path, INPUTS).digest())

    assert digests[0] == digests[1] != digests[2]


def test_the_digest_of_a_parquet_file_reads_its_footer_only(parquet, arrow, tmp_path):
    """So a large file is not read; its footer has the statistics of all values."""
    path = tmp_path / "rows.parquet"
    parquet.write_table(arrow.table({"X": list(range(1000))}), path)
    source, content = row_source(path, INPUTS), path.read_bytes()
    footer = int.from_bytes(content[-8:-4], "little") + 8

    def digest(at):
        path.write_bytes(content[:at] + b"?" + content[at + 1 :] if at else content)
        return source.digest()

    before = digest(0)
    assert before == digest(len(content) - footer - 1)
    assert before != digest(len(content) - footer)


def test_another_file_is_no_parquet_file(arrow, tmp_path):
    """The error names the file."""
    path = tmp_path / "rows.parquet"
    path.write_text("no rows at all")

    with pytest.raises(ValueError, match=r"rows\.parquet' is not a Parquet file"):
        row_source(path, INPUTS)


def test_without_pyarrow_a_sentence_names_the_extra(tmp_path):
    """It is the whole error."""
    path = tmp_path / "rows.parquet"
    path.touch()
    script = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from blsnb.evaluation.rows.source import row_source\n"
        "try: row_source(sys.argv[1], ['X'])\n"
        "except ImportError as error: print(error)"
    )

    done = subprocess.run(
        [sys.executable, "-c", script, path], capture_output=True, text=True, check=True
    )

    sentence = "reading rows.parquet needs pyarrow: pip install 'blsnb[data]'"
    assert sentence == done.stdout.strip()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_million_rows_of_parquet_need_the_memory_of_a_thousand(
    parquet, arrow, tmp_path, figures
):
    """Reading 64 MB of values keeps memory flat."""
    rows = 1_000_000
    path = tmp_path / "rows.parquet"
    column = arrow.array(np.random.default_rng(0).random(rows * 8, np.float32))
    nested = arrow.FixedSizeListArray.from_arrays(column, 8)
    parquet.write_table(
        arrow.table({"X": nested, "label": range(rows)}), path, row_group_size=1 << 16
    )

    measured = measure(
        """
        import itertools
        from blsnb.evaluation.rows.source import row_source

        source = row_source(sys.argv[1], ["X"])
        warm = list(itertools.islice(source, 100_000))[:0]
        """,
        "result = sum(1 for row in source)",
        path,
    )

    assert rows == measured.result
    assert measured.grown < 24 << 20
    figures(rows=rows, bytes=measured.grown)
