"""Specification of files that appear only once they are complete."""

from __future__ import annotations

import pytest

from blsnb.files.whole import whole_file


def test_two_writers_of_one_file_do_not_disturb_each_other(tmp_path):
    """The last one to finish wins, even among threads."""
    path = tmp_path / "run.html"
    with whole_file(path) as first:
        first.write_text("first")
        with whole_file(path) as second:
            second.write_text("second")
            assert first.read_text() == "first"
        assert path.read_text() == "second"

    assert path.read_text() == "first"
    assert [path] == list(tmp_path.iterdir())


def test_an_error_of_the_writer_is_raised_unchanged(tmp_path):
    """Nothing is left behind."""
    path = tmp_path / "run.html"
    path.write_text("what was there")

    def write() -> None:
        with whole_file(path) as partial:
            partial.write_text("half")
            (tmp_path / "other").read_text()

    with pytest.raises(FileNotFoundError) as error:
        write()

    assert str(tmp_path / "other") == error.value.filename
    assert "what was there" == path.read_text()
    assert [path] == list(tmp_path.iterdir())
