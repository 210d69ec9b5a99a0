"""Temporary folders of models that are loaded from files in memory."""

from __future__ import annotations

import gc
import weakref

import pytest

from blsnb.engine.loading.override_folders import OverrideFolders
from blsnb.model.config import parse_pbtxt

CONFIG = parse_pbtxt('name: "m" backend: "python"')


class Version:
    """A version that may still run."""

    def __init__(self, is_running: bool) -> None:
        self.is_running = is_running


@pytest.fixture
def folders(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folders = OverrideFolders()
    yield folders
    folders.close()


def test_a_folder_has_the_files_and_the_configuration(folders, tmp_path):
    """A leading slash means the folder; it is removed with all others."""
    files = {"file:1/model.py": b"a", "file:/x/../b": b"", "file:/c": b"c"}
    folder = folders.write(CONFIG, files)

    assert (tmp_path, (folder,)) == (folder.parent, folders.folders)
    assert folder.name.startswith("folder")
    assert CONFIG.to_pbtxt() == (folder / "config.pbtxt").read_text(encoding="utf-8")
    assert [b"a", b"", b"c"] == [
        (folder / name).read_bytes() for name in ("1/model.py", "b", "c")
    ]
    folders.close()
    assert ((), False) == (folders.folders, folder.exists())


@pytest.mark.parametrize(
    ("key", "error", "text"),
    [
        (
            "1/model.py",
            ValueError,
            "The load parameter '1/model.py' is not valid; expected a file such as "
            "'file:1/model.py'.",
        ),
        (
            "file:../x",
            ValueError,
            "Invalid file parameter 'file:../x' with normalized path '{parent}/x' must "
            "stay within model directory.",
        ),
        (
            "file:",
            ValueError,
            "Invalid file parameter 'file:' with normalized path '{folder}' must stay "
            "within model directory.",
        ),
        (
            "file:1/",
            IsADirectoryError,
            "failed to open binary file for write {folder}/1/: Is a directory",
        ),
    ],
)
def test_a_wrong_path_is_refused_in_tritons_words(folders, tmp_path, key, error, text):
    """Nothing is left of the folder."""
    seen = []
    discard = folders.discard
    folders.discard = lambda folder: (seen.append(folder), discard(folder))
    with pytest.raises(error) as caught:
        folders.write(CONFIG, {"file:a": b"", key: b""})

    [folder] = seen
    assert text.format(folder=folder, parent=tmp_path) == str(caught.value)
    assert ((), False) == (folders.folders, folder.exists())


def test_a_folder_is_removed_with_the_last_version_that_runs_from_it(folders, tmp_path):
    """A model that still serves from it keeps it."""
    first, second = folders.write(CONFIG, {}), folders.write(CONFIG, {})
    running = Version(is_running=True)
    folders.use("m", first, [])
    folders.use("m", first, [])
    folders.discard_unused(first)
    assert first.exists()
    folders.use("m", second, [Version(False), running])
    folders.discard_unused(second)
    assert (first, second) == folders.folders

    folders.leave("other", [])
    assert first.exists()
    running.is_running = False
    folders.use("m", tmp_path, [Version(False)])
    assert ((), False, False) == (folders.folders, first.exists(), second.exists())
    assert tmp_path.exists()
    ended = weakref.ref(running)
    del running
    gc.collect()
    assert ended() is None


def test_a_folder_that_no_model_uses_is_removed(folders, tmp_path):
    """Other folders stay."""
    folder = folders.write(CONFIG, {})
    folders.discard_unused(folder)
    folders.discard_unused(tmp_path)
    folders.discard(tmp_path)

    assert ((), False) == (folders.folders, folder.exists())
    assert tmp_path.exists()
