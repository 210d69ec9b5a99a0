"""Rows of ``.npz`` files."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
from peak_memory import measure
from whole_text import whole

from blsnb.evaluation.rows.source import row_source

IMAGES = np.arange(24, dtype=np.float32).reshape(3, 2, 4)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
def test_each_member_has_an_element_for_each_row(tmp_path, save, order):
    """Arrays keep their types; strings are strings."""
    path = tmp_path / "rows.npz"
    texts = np.array(["a", "bc", ""])
    save(path, X=np.asarray(IMAGES, order=order), label=[7, 8, 9], TEXT=texts)

    rows = list(row_source(path, ["X", "TEXT"]))

    assert IMAGES.tolist() == [row.inputs["X"].tolist() for row in rows]
    assert [np.dtype(np.float32)] * 3 == [row.inputs["X"].dtype for row in rows]
    assert ["a", "bc", ""] == [row.inputs["TEXT"] for row in rows]
    assert [7, 8, 9] == [row.rest["label"] for row in rows]


def test_an_open_file_is_read_as_well(tmp_path):
    """`numpy.load` returns it."""
    np.savez(tmp_path / "rows.npz", X=IMAGES)

    with np.load(tmp_path / "rows.npz") as opened:
        assert 3 == len(list(row_source(opened, ["X"])))


def test_a_file_without_rows_has_none(tmp_path):
    """An empty array cannot be mapped into memory."""
    np.savez(tmp_path / "rows.npz", X=IMAGES[:0])

    source = row_source(tmp_path / "rows.npz", ["X"])

    assert (0, []) == (source.total, list(source))


def test_python_objects_are_never_unpickled(tmp_path):
    """The sentence says how strings are saved."""
    np.savez(tmp_path / "rows.npz", X=np.array(["a", None], dtype=object))

    text = (
        f"member 'X' of {str(tmp_path / 'rows.npz')!r} has Python objects, which are "
        "not read: a file could execute code with them. For strings, save "
        "np.array(texts, dtype=str)"
    )
    with pytest.raises(ValueError, match=whole(text)):
        row_source(tmp_path / "rows.npz", ["X"])


def test_members_of_different_lengths_are_refused(tmp_path):
    """The sentence has the lengths."""
    np.savez(tmp_path / "rows.npz", X=IMAGES, label=[1])

    text = (
        f"the members of {str(tmp_path / 'rows.npz')!r} have different lengths: X 3, "
        "label 1; expected one element of each for every row"
    )
    with pytest.raises(ValueError, match=whole(text)):
        row_source(tmp_path / "rows.npz", ["X"])


def test_other_files_are_refused(tmp_path):
    """Neither other zip files nor other contents are rows."""
    path = tmp_path / "rows.npz"
    path.write_bytes(b"no zip")
    with pytest.raises(ValueError, match=r"is not an \.npz file"):
        row_source(path, ["X"])
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", b"no array")
    with pytest.raises(ValueError, match=r"member 'X' of .* is not an array"):
        row_source(path, ["X"])
    np.savez(path, X=3)
    with pytest.raises(
        ValueError, match=r"is a single value; expected an element for each row$"
    ):
        row_source(path, ["X"])


def written(path, version, end=None):
    """Write a file of one member, in a version of its format, perhaps cut off."""
    content = io.BytesIO()
    np.lib.format.write_array(content, IMAGES, version)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", content.getvalue()[:end])
    return path


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_members_have_one_of_two_versions(tmp_path, version):
    """NumPy writes the second one for records with many fields."""
    rows = row_source(written(tmp_path / "rows.npz", version), ["X"])

    assert IMAGES.tolist() == [row.inputs["X"].tolist() for row in rows]


def test_a_member_that_is_cut_off_is_an_error(tmp_path):
    """It names the member."""
    rows = row_source(written(tmp_path / "rows.npz", (1, 0), -1), ["X"])

    with pytest.raises(ValueError, match=whole("member 'X' ends before its last row")):
        list(rows)


def test_the_digest_is_that_of_the_values(tmp_path):
    """The same values in another file are the same rows."""
    digests = []
    for name, value in (("a", 1), ("b", 1), ("c", 2)):
        np.savez(tmp_path / f"{name}.npz", X=np.full(3, value))
        digests.append(row_source(tmp_path / f"{name}.npz", ["X"]).digest())

    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize("save", ["savez", "savez_compressed"])
def test_rows_are_never_all_in_memory(tmp_path, save):
    """Of 64 MiB at most a third is in memory, in both forms of the file."""
    path = tmp_path / "rows.npz"
    getattr(np, save)(path, X=np.zeros((16384, 1024), np.float32))

    measured = measure(
        "from blsnb.evaluation.rows.source import row_source",
        """
        result = sum(row.inputs["X"].size for row in row_source(sys.argv[1], ["X"]))
        """,
        path,
    )

    assert 1 << 24 == measured.result
    assert measured.grown < 40 << 20
