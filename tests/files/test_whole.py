"""Specification of files that appear only once they are complete."""

from __future__ import annotations

import os

import pytest

from blsnb.files.whole import output_file, whole_file


def test_two_writers_of_one_file_do_not_disturb_each_other(tmp_path):
    """The last one to finish wins, even among threads."""
    path = tmp_path / "run.html"
    with whole_file(path) as first:
        first.write_text("first")
        with whole_file(path) as second:
            second.write_text("second")
            assert "first" == first.read_text()
        assert "second" == path.read_text()

    assert "first" == path.read_text()
    assert [path] == list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["x" * 250 + ".html", "模" * 83 + ".html"])
def test_a_file_may_have_the_longest_name_of_its_system(tmp_path, name):
    """The temporary name is as short as needed."""
    with whole_file(tmp_path / name) as partial:
        partial.write_text("page")

    assert [tmp_path / name] == list(tmp_path.iterdir())


def test_a_name_that_is_too_long_is_in_the_error(tmp_path):
    """The temporary name is not the one that the user gave."""
    path = tmp_path / ("x" * 256)
    with pytest.raises(OSError, match="File name too long") as error, whole_file(path):
        pass

    assert str(path) == error.value.filename
    assert [] == list(tmp_path.iterdir())


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


def test_the_target_of_a_link_is_written(tmp_path):
    """The link still leads to it, also when it did not exist."""
    link, target = tmp_path / "latest.html", tmp_path / "monday.html"
    link.symlink_to(target.name)
    for text in ("first", "second"):
        with output_file(link) as partial:
            partial.write_text(text)

        assert (True, text) == (link.is_symlink(), target.read_text())
    assert [link, target] == sorted(tmp_path.iterdir())


def test_permissions_of_an_existing_file_stay(tmp_path):
    """A private file is private while it is written, and afterwards."""
    path = tmp_path / "run.html"
    path.touch(mode=0o600)
    with output_file(path) as partial:
        assert 0o600 == partial.stat().st_mode & 0o777
        partial.write_text("text")

    assert (0o600, "text") == (path.stat().st_mode & 0o777, path.read_text())


def test_a_pipe_is_written_and_not_replaced(tmp_path):
    """A device is neither: /dev/stdout and /dev/null are the machine's."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with output_file(path) as same:
            same.write_text("text")

        assert b"text" == os.read(reader, 100)
        assert path.is_fifo()
    finally:
        os.close(reader)
