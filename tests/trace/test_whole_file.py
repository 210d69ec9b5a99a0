"""Files that are there only once they are whole."""

from __future__ import annotations

import errno
import os

import pytest

from blsnb.trace.whole_file import whole_file


def fill(path):
    """Write half a file, and no more."""
    with whole_file(path) as new:
        new.write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_disk_that_is_full_is_told_with_the_file(tmp_path):
    """The system names none; what stood there does so still."""
    path = tmp_path / "x.html"
    path.write_text("before")
    with pytest.raises(OSError, match="No space left") as caught:
        fill(path)

    assert str(path) == caught.value.filename
    assert ["before"] == [left.read_text() for left in tmp_path.iterdir()]


def test_a_disk_that_is_read_only_is_told_with_the_file(tmp_path, monkeypatch):
    """By the name that it was to have, though nothing can be tidied there either."""

    def refuse(path, *_):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr("pathlib.Path.open", refuse)
    monkeypatch.setattr("pathlib.Path.unlink", refuse)
    path = tmp_path / "x.html"
    with pytest.raises(OSError, match="Read-only") as caught, whole_file(path) as new:
        new.open("w")

    assert str(path) == caught.value.filename


def test_another_file_that_is_missing_keeps_its_name(tmp_path):
    """What is written may come from elsewhere."""
    with pytest.raises(FileNotFoundError) as caught, whole_file(tmp_path / "x"):
        (tmp_path / "y").read_text()

    assert str(tmp_path / "y") == caught.value.filename
