"""Exports in place: what the disk, other processes and strangers do to them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from killed_exports import state
from killed_write_backs import OLD, opened, write_old

from blsnb.errors import RepositoryError
from blsnb.files.owned import locked
from blsnb.repository.imported import in_place
from blsnb.repository.imported.in_place import JOURNAL, InPlaceExport
from blsnb.repository.imported.write_back import write_back
from blsnb.repository.manifest import digest_of
from blsnb.repository.repository import ModelRepository

READ_ONLY = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from killed_write_backs import opened, write_back
from blsnb.errors import RepositoryError
from blsnb.model.config import parse_pbtxt
if not os.geteuid():
    # After all imports, also those of parsing: another user may not read this Python.
    parse_pbtxt("")
    os.setgid(65534)
    os.setuid(65534)
repository, models = opened(Path(sys.argv[1]))
try:
    write_back(models)
except RepositoryError as error:
    print(error)
repository.close()
"""


@pytest.fixture
def root(tmp_path):
    write_old(tmp_path / "models")
    return tmp_path / "models"


@pytest.fixture
def changed(root):
    """The changed models of a repository."""
    repository, models = opened(root)
    yield models
    repository.close()


def staged(root, models):
    """Stage the edits of all models without replacing anything."""
    export = InPlaceExport(root)
    export.stage([edit for model in models for edit in model.edits])
    return export


def test_a_read_only_folder_is_left_as_it_is():
    """The error names it; a superuser becomes another user for it."""
    tests = str(Path(__file__).parents[2])
    with tempfile.TemporaryDirectory(prefix="blsnb-read-only-") as folder:
        root = Path(folder) / "models"
        write_old(root)
        before = state(root)
        Path(folder).chmod(0o755)
        for each in (root, *root.rglob("*")):
            each.chmod(0o555)
        done = subprocess.run(
            [sys.executable, "-c", READ_ONLY, str(root), tests],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert before == state(root)
        for each in (root, *root.rglob("*")):
            each.chmod(0o755)
    why = f"{root} cannot be written: Permission denied; nothing was written"
    assert why in done.stdout, done.stderr


def test_the_second_of_two_kernels_is_refused(root):
    """It has not seen what the first one wrote."""
    first, ours = opened(root)
    second, theirs = opened(root)
    with second.changing("a", {"1/model.py": "theirs"}):
        pass
    write_back(ours)
    with pytest.raises(RepositoryError, match=r"a/1/model\.py changed in"):
        write_back(theirs)

    assert "new a" == (root / "a" / "1" / "model.py").read_text()
    first.close()
    second.close()


def test_a_file_that_two_models_share_is_not_written(root):
    """Both would replace it."""
    shared, link = root / "a" / "1" / "model.py", root / "b" / "config.pbtxt"
    link.unlink()
    link.symlink_to(shared)
    before = texts(root)
    repository, models = opened(root)
    with pytest.raises(RepositoryError) as refused:
        write_back(models)
    repository.close()

    assert (
        f"{shared.resolve()} is a link shared by two changed models; nothing was "
        "written"
    ) == str(refused.value)
    assert before == texts(root)


def test_two_exports_wait_for_each_other(root, changed, monkeypatch):
    """For a limited time."""
    monkeypatch.setattr(in_place, "_LOCK_TIMEOUT_S", 0.05)
    with (
        locked(root, 0),
        pytest.raises(RepositoryError, match=r"another process .* nothing was written"),
    ):
        write_back(changed)


def test_what_changes_while_files_are_staged_is_not_overwritten(
    root, changed, monkeypatch
):
    """An editor holds no lock."""
    stage = InPlaceExport.stage

    def interfere(export, edits):
        stage(export, edits)
        (root / "a" / "1" / "model.py").write_text("theirs")

    monkeypatch.setattr(InPlaceExport, "stage", interfere)
    with pytest.raises(RepositoryError, match=r"a/1/model\.py changed in"):
        write_back(changed)
    assert {**OLD, "a/1/model.py": "theirs"} == texts(root)


def texts(root):
    return {
        path: held.decode() for path, held in state(root).items() if held is not None
    }


def test_a_file_that_cannot_be_replaced_restores_the_others(root, changed, monkeypatch):
    """The last one fails."""
    calls = []

    class Failing(in_place.Swap):
        def apply(self):
            calls.append(self)
            if len(calls) == 4:
                raise OSError(5, "Input/output error")
            super().apply()

    monkeypatch.setattr(in_place, "Swap", Failing)
    with pytest.raises(
        RepositoryError, match=r"Input/output error; nothing was written$"
    ):
        write_back(changed)
    assert OLD == texts(root)
    assert not (root / "a" / "2").exists()


def test_what_the_user_wrote_after_a_kill_stays(root, changed):
    """The other files of the export are completed."""
    staged(root, changed)
    (root / "a" / "1" / "model.py").write_text("mine")
    ModelRepository([root]).close()

    found = texts(root)
    assert "mine" == found["a/1/model.py"]
    assert "new b" == found["b/config.pbtxt"]
    assert [] == [path for path in found if ".blsnb" in path]


def test_the_next_export_completes_one_that_was_killed(root, changed):
    """It does not need to load the repository again."""
    staged(root, changed)
    with InPlaceExport(root).held():
        found = texts(root)

    assert ("new a", "new b") == (found["a/1/model.py"], found["b/config.pbtxt"])
    assert [] == [path for path in found if ".blsnb" in path]


def test_a_journal_of_a_stranger_reaches_nothing_outside(root, tmp_path):
    """A repository may come from anywhere."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for target, beside in (
        ("../victim", "../.blsnb-0123456789abcdef"),
        ("a/1/model.py", "b/1/model.py"),
        ("link/victim", "link/.blsnb-0123456789abcdef"),
    ):
        if not (root / "link").is_symlink():
            (root / "link").symlink_to(tmp_path)
        step = {"target": target, "staged": beside, "old": digest_of(victim)}
        step["new"] = None
        plan = {"steps": [step], "folders": [], "is_staged": True}
        (root / JOURNAL).write_text(json.dumps(plan))
        ModelRepository([root]).close()
        assert "precious" == victim.read_text()
    assert "b" == (root / "b" / "1" / "model.py").read_text()


def test_a_journal_of_a_stranger_removes_no_folder_outside(root, tmp_path):
    """Not even an empty one."""
    (tmp_path / "empty").mkdir()
    (root / "link").symlink_to(tmp_path)
    for folder in ("../empty", str(tmp_path / "empty"), "link/empty"):
        plan = {"steps": [], "folders": [folder], "is_staged": False}
        (root / JOURNAL).write_text(json.dumps(plan))
        ModelRepository([root]).close()
        assert (tmp_path / "empty").is_dir()


def journal(target: object) -> str:
    """Return a journal with one step."""
    step = {"target": target, "staged": ".blsnb-0123456789abcdef"}
    steps = [{**step, "old": None, "new": None}]
    return json.dumps({"steps": steps, "folders": [], "is_staged": True})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '{"steps": [1]}',
        "\xff",
        "[" * 100_000,
        journal(5),
        journal("a\0b"),
        journal("\ud800"),
        journal("x" * 5_000),
        '{"steps": [], "folders": [5], "is_staged": true}',
    ],
)
def test_a_broken_journal_is_no_error(root, text):
    """Nothing is known of it, so nothing is done."""
    (root / JOURNAL).write_text(text)
    before = texts(root)
    ModelRepository([root]).close()
    assert before == texts(root)


def test_nothing_is_left_of_a_staged_export_that_is_undone(root, changed):
    """Nor of the folders that it made."""
    before = state(root)
    export = staged(root, changed)
    assert before != state(root)
    export.undo()
    assert before == state(root)
    assert [] == [name for name in os.listdir(root) if name.startswith(".blsnb")]
