"""Specification of frames and their lines."""

import threading
import traceback
import zipfile
from pathlib import Path
from zipfile import BadZipFile, ZipFile

import pytest

import blsnb
from blsnb.errors import InputError, RepositoryError
from blsnb.evaluation.rows.npz import npz_records
from blsnb.magics.errors import frames
from blsnb.repository.repository import ModelRepository

TEXT = "a = 1\nb = 2\nc = 3\nd = 4\n"


def shown(line, offset=0):
    return frames.excerpt(line, TEXT, "nowhere.py", offset, lambda text: text)


def test_a_line_is_shown_below_the_two_before_it():
    """An arrow marks the line."""
    expected = ["     2 b = 2", "     3 c = 3", "----> 4 d = 4"]

    assert expected == shown(4)


def test_lines_are_those_of_python():
    """A form feed separates sections, and ends no line."""
    text = "\f\na = 1\nb = 2\n"

    assert "----> 3 b = 2" == frames.excerpt(3, text, "nowhere.py", 0, str)[-1]


def test_numbers_are_those_of_the_cell():
    """Line numbers include the cell's lines above the file's text."""
    assert ["    10 a = 1", "---> 11 b = 2"] == shown(2, offset=9)
    assert ["   9999 a = 1", "-> 10000 b = 2"] == shown(2, offset=9998)


def test_repeats_of_a_line_are_counted():
    """Up to three are shown."""
    three, four = "a\nb\nb\nb\na", "b\nb\nb\nb\na"

    assert three == frames.without_repeats(three)
    assert "b\nb\nb\n  … the line above 4 times in all\na" == frames.without_repeats(
        four
    )


@pytest.mark.parametrize("line", [0, 5])
def test_a_missing_line_shows_nothing(line):
    """The file may have changed."""
    assert [] == shown(line)


def test_a_joined_traceback_ends_where_its_last_part_does():
    """A debugger opens at the last part."""
    traces = []
    for text in ("1 / 0", "[][0]"):
        try:
            exec(compile(text, text, "exec"))
        except (ZeroDivisionError, IndexError) as error:
            traces.append(error.__traceback__)
    parts = [part for trace in traces for part in frames.users(trace)]
    joined = frames.joined(parts)
    names = []
    while joined is not None:
        names.append(joined.tb_frame.f_code.co_filename)
        joined = joined.tb_next

    assert [__file__, "1 / 0", __file__, "[][0]"] == names


def test_frames_of_blsnb_are_hidden():
    """Frames of libraries that only forward a call are hidden, too."""
    try:
        ModelRepository([Path("nowhere")])
    except RepositoryError as error:
        trace = error.__traceback__

    found = [part.tb_frame.f_code.co_filename for part in frames.users(trace)]
    assert [__file__] == found


def test_the_constructor_of_a_dataclass_of_blsnb_is_hidden():
    """Python generates it, in a file without a name."""
    with pytest.raises(InputError) as caught, blsnb.Server() as server:
        server.evaluate("m", {"x": [1]}, nokey=3)
    files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(caught.tb)]
    kept = [part.tb_frame.f_code.co_filename for part in frames.users(caught.tb)]

    assert "<string>" in files
    assert [__file__] == kept


def test_a_library_is_hidden_where_blsnb_calls_it_and_shown_where_the_user_does(
    tmp_path,
):
    """What blsnb does inside is not the user's mistake."""
    file = tmp_path / "broken.npz"
    file.write_text("no archive")
    with pytest.raises(ValueError, match="not a zip file") as ours:
        npz_records(file)
    with pytest.raises(BadZipFile) as users:
        ZipFile(file)

    assert isinstance(ours.value.__context__, BadZipFile)
    assert [] == frames.users(ours.value.__context__.__traceback__)
    assert [__file__] == [
        each.tb_frame.f_code.co_filename for each in frames.users(ours.tb)
    ]
    assert [zipfile.__file__] == list(
        dict.fromkeys(
            each.tb_frame.f_code.co_filename for each in frames.users(users.tb)[1:]
        )
    )


def test_frames_of_threading_are_hidden():
    """An interrupted or failed wait ends in the line that waits."""
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
    with pytest.raises(RuntimeError) as caught:
        thread.start()
    files = [part.tb_frame.f_code.co_filename for part in frames.users(caught.tb)]

    assert [__file__] == files


def test_the_files_of_a_package_behind_a_link_are_hidden(tmp_path):
    """Python names files as they were imported, in environments behind links, too."""
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")

    assert f"{link}/module.py".startswith(frames._prefixes(link))
    assert f"{tmp_path}/real/module.py".startswith(frames._prefixes(link))
    assert not f"{tmp_path}/real_models/model.py".startswith(frames._prefixes(link))


def test_a_line_is_repeated_three_times_at_most():
    """More repeats, as of an endless recursion, are counted."""
    text = "\n".join(["a"] * 3 + ["b"] * 4 + ["a"] + ["c"] * 1000)

    assert [
        *("a", "a", "a"),
        *("b", "b", "b", "  … the line above 4 times in all"),
        "a",
        *("c", "c", "c", "  … the line above 1,000 times in all"),
    ] == frames.without_repeats(text).split("\n")
