"""Rows of iterables and folders, and errors that say what was expected."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from whole_text import whole

from blsnb.evaluation.plain import Row
from blsnb.evaluation.rows.source import row_source


def test_keys_that_are_no_inputs_are_labels():
    """Only metrics receive them."""
    [row] = row_source([{"X": [1], "label": 3}], ["X"])

    assert Row(0, {"X": [1]}, {"label": 3}) == row


def test_a_value_that_is_none_is_left_out():
    """An optional input of a data set may be missing in some rows."""
    rows = row_source([{"X": [1], "MASK": None, "label": None}], ["X", "MASK"])

    assert [Row(0, {"X": [1]}, {"label": None})] == list(rows)


def test_rows_are_read_when_they_are_needed():
    """A generator without an end is a data set, too."""
    rows = row_source(({"X": n} for n in itertools.count()), ["X"])

    assert [0, 1, 2] == [row.inputs["X"] for row in itertools.islice(rows, 3)]
    assert rows.total is None


class Zipped(list):
    """Rows of a library that has a method of this name."""

    zip = None


def test_only_an_open_npz_file_is_read_as_one():
    """Other iterables may have its attributes."""
    rows = row_source(Zipped([{"X": [1]}]), ["X"])

    assert [Row(0, {"X": [1]})] == list(rows)


def test_a_list_is_read_again_and_a_generator_is_not():
    """An empty second evaluation would look like a success."""
    several = row_source([{"X": 1}], ["X"])
    assert [list(several)] == [list(several)]
    assert 1 == several.total
    once = row_source(iter([{"X": 1}]), ["X"])
    assert 1 == len(list(once))

    text = (
        "the rows were read before, and a generator has them only once; pass a list, "
        "or a new generator"
    )
    with pytest.raises(ValueError, match=whole(text)):
        list(once)


ROWS = (
    "an iterable of dicts such as {'INPUT': array, 'label': 3}, a DataFrame of pandas "
    "or polars, an Arrow table, the path of a .parquet, .npz or .blsrun file or of a "
    "recording, a pair (folder, loader), or runs"
)
ID = (
    "expected the id of its sequence: a number from 1 to 2**64 - 1, or a non-empty "
    "string"
)


@pytest.mark.parametrize(
    ("rows", "error", "text"),
    [
        (3, TypeError, f"rows=3 is not valid; expected {ROWS}"),
        (np.array(3), TypeError, f"rows=3 is not valid; expected {ROWS}"),
        (b"X", TypeError, f"rows=b'X' is not valid; expected {ROWS}"),
        (
            {"X": [1]},
            TypeError,
            "rows is a dict; expected several rows: [rows] for one, or for a dict of "
            "columns pandas.DataFrame(rows)",
        ),
        (
            [[1, 2]],
            TypeError,
            "rows[0]=[1, 2] is not valid; expected a dict such as {'INPUT': array}",
        ),
        ("no.npz", FileNotFoundError, "there is no file or folder 'no.npz' of rows"),
    ],
)
def test_other_rows_are_refused(rows, error, text):
    """The sentence has the value, and what was expected."""
    with pytest.raises(error, match=whole(text)):
        list(row_source(rows, ["X"]))


def test_an_unknown_kind_of_file_is_refused(tmp_path):
    """Nothing is guessed from a file's content."""
    path = tmp_path / "rows.pickle"
    path.touch()

    text = (
        f"{str(path)!r} has no rows in a known format; expected .parquet, .npz or "
        ".blsrun; read others yourself, such as with pandas.read_csv"
    )
    with pytest.raises(ValueError, match=whole(text)):
        row_source(path, ["X"])


def test_names_that_no_input_has_are_refused_with_a_similar_one():
    """Each row would fail, since the data set spells the input in another way."""
    rows = row_source([{"image": 1, "label": 2}], ["IMAGE", "MASK"])

    text = (
        "no key of the first row is an input of the model: found 'image', 'label'; "
        "expected 'IMAGE', 'MASK'. Did you mean 'IMAGE'?"
    )
    with pytest.raises(ValueError, match=whole(text)):
        list(rows)


def test_a_row_without_inputs_stays_a_row():
    """Its failure is that of the model, in Triton's words."""
    assert [Row(0, {}, {})] == list(row_source([{}], ["X"]))


def test_rows_of_a_sequence_have_flags():
    """The order of the rows says where a sequence starts and ends."""
    rows = [{"X": n, "video": video} for n, video in enumerate("aabc")]

    found = list(row_source(rows, ["X"], sequence="video"))

    expected = [("a", True, False), ("a", False, True), *[("b", True, True)]]
    assert [*expected, ("c", True, True)] == [row[3:] for row in found]


def test_a_sequence_does_not_continue_after_another_one():
    """Its state would have ended."""
    rows = [{"X": n, "video": video} for n, video in enumerate([1, 2, 1])]

    with pytest.raises(
        ValueError,
        match=r"row 2: sequence 1 continues after rows of another one; "
        r"sort the rows by sequence$",
    ):
        list(row_source(rows, ["X"], sequence="video"))


@pytest.mark.parametrize("row", [{"X": 1}, {"X": 1, "video": float("nan")}])
def test_a_row_without_the_id_of_its_sequence_is_refused(row):
    """It would be executed outside of all sequences."""
    with pytest.raises(ValueError, match=whole(f"row 0 has no 'video'; {ID}")):
        list(row_source([row], ["X"], sequence="video"))


NO_IDS = [-1, 0, "", 2**64, 1.5, float("inf"), b"a", np.ones(2)]


@pytest.mark.parametrize(
    ("number", "shown"), [(0.0, "0"), *((each, repr(each)) for each in NO_IDS)]
)
def test_what_is_no_correlation_id_is_refused(number, shown):
    """Rounded, 1.2 and 1.7 would be one sequence; 0 and "" mean no sequence."""
    text = f"row 0: video={shown} is not valid; {ID}"
    with pytest.raises(ValueError, match=whole(text)):
        list(row_source([{"X": 1, "video": number}], ["X"], sequence="video"))


@pytest.mark.parametrize("number", [7, 7.0, np.int32(7), np.float32(7)])
def test_a_whole_number_of_any_type_is_a_correlation_id(number):
    """A pandas column that lacks an id has floats."""
    rows = row_source([{"X": 1, "video": number}], ["X"], sequence="video")

    assert "7" == repr(next(iter(rows)).sequence)


@pytest.mark.parametrize("pattern", ["", "*/*.txt"])
def test_a_loader_makes_rows_of_the_files_of_a_folder(tmp_path, pattern):
    """Files are sorted by path; hidden ones are left out."""
    for name in ("b/2.txt", "a/10.txt", "a/.hidden"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    source = row_source(
        (tmp_path / pattern, lambda path: {"X": path.read_text()}), ["X"]
    )

    expected = [("a/10.txt", "a/10.txt"), ("b/2.txt", "b/2.txt")]
    assert expected == [(row.inputs["X"], row.rest["path"]) for row in source]
    assert 2 == source.total


def test_the_digest_of_a_folder_changes_with_its_files(tmp_path):
    """An evaluation does not continue with other files, whatever their names."""
    (tmp_path / "a\udcff.bin").write_bytes(b"1")

    def digest():
        return row_source((tmp_path, np.fromfile), ["X"]).digest()

    before = digest()
    assert before == digest()
    (tmp_path / "b.bin").write_bytes(b"1")
    assert before != digest()


def test_an_error_of_a_loader_names_the_file(tmp_path):
    """Among thousands of files, the user looks for the broken one."""
    for name in ("1.txt", "2.txt"):
        (tmp_path / name).write_text(name[0])

    def load(path):
        return {"X": 1 / (int(path.read_text()) - 2)}

    with pytest.raises(ZeroDivisionError) as caught:
        list(row_source((tmp_path, load), ["X"]))
    broken = str(tmp_path / "2.txt")
    assert [f"the loader was called with {broken!r}"] == caught.value.__notes__


def test_a_loader_returns_a_dict(tmp_path):
    """The error names the file."""
    (tmp_path / "a.bin").touch()

    text = "the loaded row of a.bin=3 is not valid; expected a dict of inputs"
    with pytest.raises(TypeError, match=whole(text)):
        list(row_source((tmp_path, lambda path: 3), ["X"]))


def test_an_empty_folder_is_refused(tmp_path):
    """The sentence says what a folder may contain."""
    text = (
        f"the folder {str(tmp_path)!r} has neither .parquet files nor a recording; for "
        "other files pass a pair (folder, loader), where loader(path) returns a dict"
    )
    with pytest.raises(ValueError, match=whole(text)):
        row_source(tmp_path, ["X"])
    with pytest.raises(ValueError, match=r"has no files; expected one for each row$"):
        row_source((tmp_path, np.fromfile), ["X"])
