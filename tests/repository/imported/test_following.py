"""Which models of a followed folder are loaded, and when: decided without a folder."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blsnb.repository.directory import FileStamp
from blsnb.repository.imported.folder_scan import FolderScan
from blsnb.repository.imported.following import (
    POLL_PERIOD_NS,
    FolderChanges,
    Follower,
    PollClock,
)

OLD = {"": FileStamp(1, 0), "1/": FileStamp(1, 0), "1/model.py": FileStamp(1, 10)}
NEW = OLD | {"1/model.py": FileStamp(2, 10)}
M = ("m",)


def follower(files=OLD, is_serving=True):
    return Follower({"m": files}, frozenset(M if is_serving else ()))


def polls(follower, *seen):
    """Return the results of polls of the files of a model; None without a folder."""
    return [follower.poll({} if each is None else {"m": each}) for each in seen]


def test_an_unchanged_model_is_left_alone():
    """The number of polls does not matter."""
    assert [FolderChanges()] * 3 == polls(follower(), OLD, OLD, OLD)


def test_a_saved_model_is_due_at_the_second_poll_that_finds_it_the_same():
    """Until then it may still be being written."""
    newer = OLD | {"1/model.py": FileStamp(3, 10)}
    unsettled = FolderChanges(unsettled=M)

    assert [unsettled, unsettled, FolderChanges(due=M)] == polls(
        follower(), NEW, newer, newer
    )


def test_a_model_whose_load_was_interrupted_is_due_again():
    """After Ctrl-C the load is not noted."""
    following = follower()
    scanned = dict(NEW)
    found = polls(following, scanned, scanned, scanned)
    assert [
        FolderChanges(unsettled=M),
        FolderChanges(due=M),
        FolderChanges(due=M),
    ] == found

    following.note_load("m", scanned, scanned, True)
    assert [FolderChanges()] * 2 == polls(following, scanned, scanned)


@pytest.mark.parametrize(
    "stamp", [FileStamp(2, 10), FileStamp(1, 11), FileStamp(1, 10, 7)]
)
def test_time_size_or_inode_is_a_change(stamp):
    """A file that is renamed into place may have the time and size of the old one."""
    files = OLD | {"1/model.py": stamp}
    assert FolderChanges(due=M) == polls(follower(), files, files)[-1]


def test_a_folder_is_removed_at_the_second_poll_without_it():
    """While a repository is checked out, it may be away for a moment."""
    assert [FolderChanges(unsettled=M), FolderChanges()] == polls(follower(), None, OLD)
    assert FolderChanges(removed=M) == polls(follower(), None, None)[-1]


def test_a_folder_that_cannot_be_read_is_reported_once():
    """The model stays loaded."""
    found = polls(follower(), {}, {}, OLD, {})
    assert [
        FolderChanges(unreadable=M),
        FolderChanges(),
        FolderChanges(),
        FolderChanges(unreadable=M),
    ] == found


@pytest.mark.parametrize(
    "path",
    ["1/.model.py.swp", "1/model.py~", "1/__pycache__/model.pyc", "1/#model.py#"],
)
def test_files_that_editors_and_python_write_for_themselves_are_ignored(path):
    """For a model that failed, too."""
    files = OLD | {path: FileStamp(5, 5), "1/": FileStamp(5, 0), "": FileStamp(5, 0)}
    assert [FolderChanges()] * 2 == polls(follower(), files, files)
    assert [FolderChanges()] * 2 == polls(follower(is_serving=False), files, files)


def test_a_new_file_is_a_change_if_it_is_a_source_or_a_version():
    """Models write other files; of a model that failed, each may be the missing one."""
    for path, is_change in (
        ("1/helper.py", True),
        ("2/", True),
        ("1/cache/", False),
        ("1/weights.bin", False),
    ):
        files = OLD | {path: FileStamp(5, 5)}
        assert (M if is_change else ()) == polls(follower(), files, files)[-1].due
        failed = follower(is_serving=False)
        assert FolderChanges(due=M) == polls(failed, files, files)[-1]


def test_a_file_that_was_there_is_followed():
    """Labels and weights."""
    before = OLD | {"labels.txt": FileStamp(1, 1)}
    changed, removed = OLD | {"labels.txt": FileStamp(2, 1)}, OLD
    assert FolderChanges(due=M) == polls(follower(before), changed, changed)[-1]
    assert FolderChanges(due=M) == polls(follower(before), removed, removed)[-1]


def test_a_new_model_is_due_and_a_removed_one_is_forgotten():
    """A renamed folder is the one and the other."""
    decider = follower()
    assert FolderChanges(unsettled=("m", "n")) == decider.poll({"n": OLD})
    assert FolderChanges(due=("n",), removed=M) == decider.poll({"n": OLD})
    decider.note_removed("m")
    decider.note_load("n", OLD, OLD, True)
    assert FolderChanges() == decider.poll({"n": OLD})


FILES = st.one_of(
    st.none(),
    st.dictionaries(
        st.sampled_from(["1/model.py", "labels.txt", "config.pbtxt"]),
        st.builds(FileStamp, st.integers(0, 2), st.integers(0, 2), st.integers(0, 1)),
        min_size=1,
    ),
)


@given(st.lists(FILES, max_size=8), FILES)
def test_in_the_end_what_is_in_the_folder_serves(history, last):
    """Two polls of unchanged files are always enough."""
    decider, served = Follower({}, frozenset()), None
    for files in [*history, last, last]:
        [changes] = polls(decider, files)
        if changes.removed:
            decider.note_removed("m")
            served = None
        if changes.due:
            decider.note_load("m", files, files, True)
            served = files

    known = {} if served is None else served
    # A serving model is not loaded again for a new file that is no source.
    wanted = {p: s for p, s in (last or {}).items() if p != "labels.txt" or p in known}
    assert wanted == known or wanted == {p: known[p] for p in wanted}
    assert [FolderChanges()] == polls(decider, last)


def test_polls_are_100_ms_apart_and_take_a_twentieth_of_the_time():
    """With 500 models on a slow disk they are rarer."""
    clock = PollClock()
    assert clock.is_due(0)
    clock.note(0, 1_000)
    assert not clock.is_due(POLL_PERIOD_NS)
    assert clock.is_due(POLL_PERIOD_NS + 1_000)
    clock.note(0, 50_000_000)
    assert not clock.is_due(1_049_999_999)
    assert clock.is_due(1_050_000_000)


@pytest.fixture
def folder(tmp_path):
    file = tmp_path / "m" / "1" / "model.py"
    file.parent.mkdir(parents=True)
    file.write_text("old")
    return tmp_path


def aged(folder: Path) -> FolderScan:
    """Return a scan of a folder whose files are an hour old."""
    for path in folder.rglob("*"):
        found = path.stat()
        old_ns = found.st_mtime_ns - 3_600_000_000_000
        os.utime(path, ns=(old_ns, old_ns))
    scan = FolderScan(folder)
    scan.read()
    return scan


def test_an_unchanged_model_is_not_listed_again(folder, monkeypatch):
    """Its files are the same object."""
    scan = aged(folder)
    before = scan.files["m"]

    assert before is scan.read()["m"]
    assert {"", "1/", "1/model.py"} == set(before)


def test_each_kind_of_change_is_found(folder):
    """A file, a new file, a new folder, a removed one, a new and a removed model."""
    scan = aged(folder)
    model = folder / "m"
    for change in (
        lambda: (model / "1" / "model.py").write_text("newer"),
        lambda: (model / "labels.txt").write_text(""),
        lambda: (model / "2").mkdir(),
        lambda: (model / "labels.txt").unlink(),
        lambda: (folder / "n").mkdir(),
        lambda: shutil.rmtree(model),
    ):
        before = scan.read()
        change()
        assert before != scan.read()


def test_a_folder_that_is_gone_is_none_and_a_named_model_stands_alone(folder):
    """A folder that cannot be listed counts as missing."""
    (folder / "n").mkdir()
    named = FolderScan(folder, ["m"])
    assert ["m"] == list(named.read())
    shutil.rmtree(folder)
    assert named.read() is None
