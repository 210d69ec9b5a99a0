"""Files that are there only once they are whole."""

from __future__ import annotations

import pytest

from blsnb.files.whole import whole_file


def test_two_writers_of_one_file_are_not_in_each_others_way(tmp_path):
    """Threads of one process, too: the last one's file stands there in the end."""
    path = tmp_path / "run.html"
    with whole_file(path) as first:
        first.write_text("first")
        with whole_file(path) as second:
            second.write_text("second")
            assert first.read_text() == "first"
        assert path.read_text() == "second"

    assert path.read_text() == "first"
    assert [path] == list(tmp_path.iterdir())


def test_an_error_of_whoever_writes_is_theirs(tmp_path):
    """It names what it named, and nothing is left behind."""
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
