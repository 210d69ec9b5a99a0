"""When a watched model is due: decided by looks at its files alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from blsnb.repository.directory import FileStamp
from blsnb.repository.imported.following import SaveDetector

OLD = {"1/model.py": FileStamp(1, 10), "1/weights": FileStamp(1, 10)}
NEW = OLD | {"1/model.py": FileStamp(2, 10)}
NEWER = OLD | {"1/model.py": FileStamp(3, 10)}


def test_unchanged_files_are_never_due():
    """The number of looks does not matter."""
    saves = SaveDetector(OLD)

    assert [False] * 3 == [saves.is_due(OLD) for _ in range(3)]


def test_what_changed_is_due_when_it_is_still():
    """An editor may be in the middle of writing it."""
    saves = SaveDetector(OLD)

    assert [False, False, True] == [
        saves.is_due(files) for files in (NEW, NEWER, NEWER)
    ]


def test_what_changed_and_changed_back_is_not_due():
    """The look before that counts no more."""
    saves = SaveDetector(OLD)

    assert [False] * 3 == [saves.is_due(files) for files in (NEW, OLD, NEW)]


def test_what_was_taken_is_not_due_again():
    """Whether it loaded or not."""
    saves = SaveDetector(OLD)
    saves.note_load(NEW, NEW)

    assert [False, False] == [saves.is_due(NEW), saves.is_due(NEW)]
    assert [False, True] == [saves.is_due(OLD), saves.is_due(OLD)]


def test_size_or_a_missing_file_is_a_change_too():
    """A copy may bear the time of what it was copied from."""
    for files in (
        OLD | {"1/model.py": FileStamp(1, 11)},
        {"1/model.py": FileStamp(1, 10)},
        OLD | {"1/more": FileStamp(0, 0)},
    ):
        saves = SaveDetector(OLD)
        assert [False, True] == [saves.is_due(files), saves.is_due(files)]


def test_what_a_model_writes_while_it_loads_is_no_reason_to_load_it():
    """Otherwise it would be reloaded forever."""
    saves = SaveDetector(OLD)
    cached = NEW | {"1/cache": FileStamp(9, 9), "1/weights": FileStamp(9, 9)}
    saves.note_load(NEW, cached)

    assert [False, False] == [saves.is_due(cached), saves.is_due(cached)]


def test_a_source_saved_while_the_model_loads_is_not_lost():
    """Neither is a removed source."""
    for after in (
        NEWER,
        {"1/weights": FileStamp(1, 10)},
        NEW | {"1/b.py": FileStamp(3, 1)},
    ):
        saves = SaveDetector(OLD)
        saves.note_load(NEW, after)
        assert [False, True] == [saves.is_due(after), saves.is_due(after)]


FILES = st.dictionaries(
    st.sampled_from(["1/model.py", "1/weights", "config.pbtxt"]),
    st.builds(FileStamp, st.integers(0, 2), st.integers(0, 2)),
)


@given(st.lists(FILES, max_size=8), FILES)
def test_finally_the_files_on_disk_are_served(history, last):
    """Two looks at unchanged files are always enough."""
    saves = SaveDetector({})
    served: dict[str, FileStamp] = {}
    for files in [*history, last, last]:
        if saves.is_due(files):
            saves.note_load(files, files)
            served = files

    assert last == served
    assert not saves.is_due(last)
