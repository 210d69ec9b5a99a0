"""The folders of the models, and that a failed change leaves no trace."""

from __future__ import annotations

import contextlib
import os
import re
import reprlib
from pathlib import Path

import pytest
from whole_text import whole

from blsnb.errors import RepositoryError
from blsnb.files import swap
from blsnb.repository.repository import ModelRepository


@pytest.fixture
def repository(tmp_path):
    """A private folder beside one of the user's with a model in it."""
    (tmp_path / "theirs" / "1").mkdir(parents=True)
    (tmp_path / "a file").write_text("")
    (tmp_path / ".hidden").mkdir()
    repository = ModelRepository([tmp_path])
    yield repository
    repository.close()


def tree(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder; None for folders."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def change(repository, files, name="mine"):
    """Write files and keep them."""
    with repository.changing(name, files) as directory:
        return directory


def test_models_are_the_folders_of_all_roots(repository):
    """Files and hidden folders are ignored."""
    change(repository, {"1/model.py": ""})

    assert ["mine", "theirs"] == repository.names()
    assert "<ModelRepository: 2 models>" == repr(repository)


def test_a_private_model_hides_one_of_the_user(repository, tmp_path):
    """Whose folder is read and never written."""
    before = tree(tmp_path)
    change(repository, {"1/model.py": "new"}, "theirs")

    assert repository.private_root == repository.directory("theirs").path.parent
    assert before == tree(tmp_path)


def test_files_are_written_to_the_letter(repository, tmp_path):
    """Text as UTF-8 with its line ends, bytes, and copies of files."""
    source = tmp_path / "weights"
    source.write_bytes(b"\x00\xff")
    files = {"1/model.py": "ä\r\nb\n", "1/sub/raw": b"\x01", "1/weights": source}
    directory = change(repository, files)

    assert {
        "1": None,
        "1/model.py": "ä\r\nb\n".encode(),
        "1/sub": None,
        "1/sub/raw": b"\x01",
        "1/weights": b"\x00\xff",
    } == tree(directory.path)


def test_none_removes_a_file(repository):
    """A missing file is not an error."""
    change(repository, {"1/a.py": "a", "1/b.py": "b"})
    directory = change(repository, {"1/a.py": None, "1/none.py": None})

    assert {"1": None, "1/b.py": b"b"} == tree(directory.path)


def test_a_failed_change_puts_everything_back(repository):
    """Files changed, removed, made, and the folders above them."""
    change(repository, {"1/a.py": "a", "1/b.py": "b"})
    before = tree(repository.private_root)
    files = {"1/a.py": "other", "1/b.py": None, "2/deep/c.py": "c", "config.pbtxt": ""}

    with pytest.raises(ZeroDivisionError), repository.changing("mine", files):
        raise ZeroDivisionError

    assert before == tree(repository.private_root)


def test_a_folder_that_a_file_replaced_is_restored(repository):
    """Its contents are restored."""
    change(repository, {"1/a/b.py": "b"})
    before = tree(repository.private_root)

    with (
        pytest.raises(ZeroDivisionError),
        repository.changing("mine", {"1/a": "a file"}),
    ):
        raise ZeroDivisionError

    assert before == tree(repository.private_root)


def test_a_file_that_the_disk_refuses_is_named_and_leaves_nothing(repository):
    """A name that is too long is refused as a full disk would be."""
    change(repository, {"1/model.py": "before"})
    files = {"1/model.py": "after", f"1/{'x' * 300}": "x"}
    with pytest.raises(
        RepositoryError, match=r"x: File name too long; the model is as it was$"
    ):
        change(repository, files)
    with pytest.raises(RepositoryError, match="too long"):
        change(repository, files, name="new")

    folder = repository.private("mine").path
    assert b"before" == (folder / "1" / "model.py").read_bytes()
    assert ["model.py"] == [path.name for path in (folder / "1").iterdir()]
    assert "new" not in repository.names()


@pytest.mark.parametrize("fails", [False, True])
def test_a_model_that_works_in_its_own_folder_stays_there(
    repository, monkeypatch, fails
):
    """Its folder is another one then; the working directory has the same path."""
    directory = change(repository, {"1/model.py": "a", "1/data": "a"})
    monkeypatch.chdir(directory.version_dir(1))
    files = {"1/model.py": "b", "1/data": "b"}
    with contextlib.suppress(ZeroDivisionError), repository.changing("mine", files):
        assert not fails or 1 / 0

    assert directory.version_dir(1) == Path.cwd()
    assert "ab"[not fails] == Path("data").read_text()


def test_a_configuration_that_becomes_an_ensembles_gets_a_version(repository):
    """Though it is the only file that changes."""
    change(repository, {"config.pbtxt": ""})
    directory = change(repository, {"config.pbtxt": "ensemble_scheduling { step {} }"})

    assert [1] == directory.versions


def test_what_stays_the_same_is_not_written(repository):
    """A cell that is run again changes no file."""
    directory = change(repository, {"1/model.py": "a", "config.pbtxt": ""})
    before = directory.files()

    change(repository, {"1/model.py": "a", "config.pbtxt": ""})
    assert before == directory.files()


def test_a_failed_new_model_leaves_no_folder(repository):
    """No empty folder remains."""
    with (
        pytest.raises(KeyboardInterrupt),
        repository.changing("mine", {"1/model.py": ""}),
    ):
        raise KeyboardInterrupt

    assert {} == tree(repository.private_root)


def test_files_that_a_model_wrote_itself_go_with_its_new_folder(repository):
    """A model may write beside itself while it loads."""

    def load() -> None:
        with repository.changing("mine", {"1/model.py": ""}) as directory:
            (directory.path / "1" / "cache").write_text("x")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        load()

    assert {} == tree(repository.private_root)


def test_nothing_of_a_change_is_left_over(repository):
    """What was moved out of the way is gone afterwards."""
    change(repository, {"1/a.py": "a"})
    change(repository, {"1/a.py": "b"})

    assert {"mine", "mine/1", "mine/1/a.py"} == set(tree(repository.private_root))


@pytest.mark.parametrize(
    "path", ["", "/etc/x", "../x", "1/../../x", "..", "1/a\0", "1/\ud800/x"], ids=repr
)
def test_a_path_must_stay_in_the_models_folder(repository, path):
    """The error shows it, and nothing was written."""
    with pytest.raises(RepositoryError) as refused:
        change(repository, {"1/model.py": "", path: "x"})
    expected = "must be a path inside the model's folder, such as 1/helper.py"
    assert f"{path!r} {expected}" == str(refused.value)

    assert {} == tree(repository.private_root)


def test_nothing_is_written_through_a_link_of_the_model(repository, tmp_path):
    """A model may have put one into its folder."""
    directory = change(repository, {"1/model.py": ""})
    outside = tmp_path / "outside"
    outside.mkdir()
    (directory.path / "1" / "sub").symlink_to(outside)

    with pytest.raises(
        RepositoryError, match=r"leads out of the model's folder by a link$"
    ):
        change(repository, {"1/sub/x": "x"})
    assert {} == tree(outside)


def test_a_link_that_leads_nowhere_is_replaced_too(repository, tmp_path):
    """Nothing comes to be where it leads; if the change fails, it is back."""
    directory = change(repository, {"1/model.py": ""})
    link = directory.path / "1" / "x"
    link.symlink_to(tmp_path / "new")

    with (
        pytest.raises(ZeroDivisionError),
        repository.changing("mine", {"1/x": "x"}),
    ):
        raise ZeroDivisionError
    assert link.is_symlink()

    change(repository, {"1/x": "x"})
    assert b"x" == tree(directory.path)["1/x"]
    change(repository, {"1/x": None})
    assert not link.exists()
    assert not (tmp_path / "new").exists()


def test_a_link_in_the_place_of_a_file_is_replaced(repository, tmp_path):
    """What it leads to stays as it was."""
    directory = change(repository, {"1/model.py": ""})
    (tmp_path / "theirs.txt").write_text("theirs")
    (directory.path / "1" / "x").symlink_to(tmp_path / "theirs.txt")
    change(repository, {"1/x": "x"})

    assert "theirs" == (tmp_path / "theirs.txt").read_text()
    assert b"x" == tree(directory.path)["1/x"]


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "a\\b", ".hidden", "a\0b", "ä" * 128, "x" * 5_000]
)
def test_a_model_is_named_like_a_folder(repository, name):
    """Anything else is refused before it is written, and is no model."""
    with pytest.raises(RepositoryError) as raised:
        repository.private(name)

    expected = (
        "a folder's name: UTF-8 text of at most 255 bytes, no path, no leading dot"
    )
    shown = reprlib.repr(name)
    assert f"{shown} cannot name a model; expected {expected}" == str(raised.value)
    assert repository.directory(name) is None


def test_a_name_may_be_as_long_as_the_system_allows(repository):
    """The folders that a change stages have names of their own."""
    change(repository, {"1/x": "x"}, name="x" * 255)

    assert "x" * 255 in repository.names()


@pytest.mark.parametrize("before", [{}, {"1/x": "x"}])
def test_half_of_a_surrogate_pair_is_refused(repository, before):
    """The error has its line, and the folder is as it was."""
    change(repository, {"config.pbtxt": "", **before})
    found = tree(repository.directory("mine").path)

    with pytest.raises(RepositoryError) as refused:
        change(repository, {"1/x": "first\nsecond \ud83d"})
    assert (
        "line 2 of the text has '\\ud83d', half of a surrogate pair, which UTF-8 "
        "cannot represent"
    ) == str(refused.value)

    assert found == tree(repository.directory("mine").path)


def test_a_name_cannot_lead_out_of_the_repository(repository, tmp_path):
    """A model is looked up among the folders, not by any path."""
    (tmp_path.parent / "outside").mkdir(exist_ok=True)

    assert repository.directory("../outside") is None
    assert repository.directory(str(tmp_path)) is None


def test_a_missing_file_to_copy_is_named(repository, tmp_path):
    """Before anything is written for good; a folder is named as such."""
    for file, found in ((tmp_path / "none", "nothing"), (tmp_path, "a folder")):
        text = (
            f"the content of '1/weights' cannot be read: there is no file {file} "
            f"({found} is there); pass the path of a file, or its bytes"
        )
        with pytest.raises(RepositoryError, match=whole(text)):
            change(repository, {"1/model.py": "", "1/weights": file})

    assert {} == tree(repository.private_root)


def test_an_unchanged_file_is_not_copied_again(repository, tmp_path):
    """Large weights are copied once."""
    source = tmp_path / "weights"
    source.write_bytes(b"heavy")
    directory = change(repository, {"1/weights": source})
    before = os.stat(directory.version_dir(1) / "weights").st_ino

    change(repository, {"1/weights": source})
    assert before == os.stat(directory.version_dir(1) / "weights").st_ino

    source.write_bytes(b"heavier")
    change(repository, {"1/weights": source})
    assert b"heavier" == (directory.version_dir(1) / "weights").read_bytes()


def test_a_root_must_be_a_folder(tmp_path):
    """The error names it, says what is there, and what is expected."""
    for name, reason in (("none", "it does not exist"), ("file", "it is a file")):
        (tmp_path / "file").touch()
        text = f"'{tmp_path / name}' is not a folder of models: {reason}; expected a "
        with pytest.raises(RepositoryError, match=f"^{re.escape(text)}folder that has"):
            ModelRepository([tmp_path / name])


def test_a_root_must_be_readable(tmp_path, monkeypatch):
    """It would have no models."""
    # Root reads everything.
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.R_OK)

    with pytest.raises(RepositoryError, match=r"' cannot be read: permission denied$"):
        ModelRepository([tmp_path])


def test_close_removes_the_private_folder(tmp_path):
    """The user's folders stay."""
    (tmp_path / "theirs").mkdir()
    repository = ModelRepository([tmp_path])
    change(repository, {"1/model.py": ""})
    repository.close()

    assert not repository.private_root.exists()
    assert (tmp_path / "theirs").is_dir()


def test_an_interrupt_between_two_steps_loses_nothing(repository, monkeypatch):
    """Where the system cannot exchange folders, too."""
    change(repository, {"1/a.py": "a"})
    before = tree(repository.private_root)
    rename = Path.rename

    def interrupted(self, target):
        rename(self, target)
        if target.parent.name.endswith(swap.OLD):
            raise KeyboardInterrupt

    monkeypatch.setattr(swap, "_renameat2", lambda: None)
    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        change(repository, {"1/a.py": "b"})
    monkeypatch.undo()

    assert before == tree(repository.private_root)


@pytest.fixture
def two(tmp_path):
    """Two folders of the user's: both have a model ``m``."""
    for path in ("a/m/1", "b/m/1", "a/x/1", "b/y/1"):
        (tmp_path / path).mkdir(parents=True)
    repository = ModelRepository([tmp_path / "a", tmp_path / "b"])
    yield repository
    repository.close()


def test_a_model_in_two_folders_is_in_neither(two, tmp_path):
    """Triton serves neither of them."""
    assert (["m", "x", "y"], {"m"}) == (two.names(), two.ambiguous())
    assert two.directory("m") is None
    reason, advice = two.why_none("m")
    assert "failed to poll model 'm': not unique across all model repositories" == (
        reason
    )
    assert f"{tmp_path / 'a' / 'm'} and {tmp_path / 'b' / 'm'}" in advice

    (tmp_path / "a" / "m" / "1").rmdir()
    (tmp_path / "a" / "m").rmdir()
    assert tmp_path / "b" / "m" == two.directory("m").path
    assert set() == two.ambiguous()


def test_a_model_of_our_own_settles_which_one_is_meant(two):
    """It hides them all."""
    change(two, {"1/model.py": ""}, "m")

    assert set() == two.ambiguous()
    assert two.private_root / "m" == two.directory("m").path


def test_a_folder_given_twice_is_one(tmp_path):
    """Different paths may lead to it, as on Triton."""
    (tmp_path / "a" / "m").mkdir(parents=True)
    repository = ModelRepository([tmp_path / "a", str(tmp_path / "a" / ".." / "a")])
    repository.add(tmp_path / "a")
    assert (tmp_path / "a",) == repository.roots
    assert tmp_path / "a" / "m" == repository.directory("m").path
    repository.close()


def test_a_folder_can_be_added(two, tmp_path):
    """Its models are there at once."""
    (tmp_path / "c" / "z").mkdir(parents=True)

    assert tmp_path / "c" == two.add(str(tmp_path / "c"))
    assert ["m", "x", "y", "z"] == two.names()
    assert (two.private_root, *two.roots) == two.folders


def test_our_own_folder_cannot_be_added(repository):
    """Its models would be there twice."""
    change(repository, {"1/model.py": ""})
    for folder in (repository.private_root, repository.private_root / "mine"):
        with pytest.raises(RepositoryError, match=r"belongs to this server already$"):
            repository.add(folder)


def test_a_folder_that_is_gone_has_no_models(two, tmp_path):
    """Other folders are not affected; the error names the missing one."""
    (tmp_path / "b").rename(tmp_path / "elsewhere")

    assert ["m", "x"] == two.names()
    assert f"The model repository {tmp_path / 'b'} is gone." == two.why_none("y")[1]


def test_a_name_too_long_for_a_folder_is_none(two):
    """The error is that of any unknown name."""
    reason, _ = two.why_none("é" * 200)

    assert reason.endswith("model not found in any model repository.")


def test_a_link_to_a_folder_is_a_model(two, tmp_path):
    """Broken and circular links are ignored, as on Triton."""
    (tmp_path / "built").mkdir()
    (tmp_path / "a" / "linked").symlink_to(tmp_path / "built")
    (tmp_path / "a" / "dangling").symlink_to(tmp_path / "none")
    (tmp_path / "a" / "circle").symlink_to(tmp_path / "a" / "circle")

    assert ["linked", "m", "x", "y"] == two.names()
    assert two.directory("linked") is not None
    for name in ("dangling", "circle"):
        assert two.directory(name) is None
        link = tmp_path / "a" / name
        assert (
            f"{link} is a link that does not lead to a folder." == two.why_none(name)[1]
        )


NAMED = (
    "A model is named like its folder: UTF-8 text of at most 255 bytes, no path, no "
    "leading dot."
)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("../a/m", NAMED),
        ("", NAMED),
        ("xx", "Known models: m, x, y. Did you mean 'x'?"),
        ("entirely", "Known models: m, x, y."),
    ],
)
def test_a_model_that_is_not_there_has_a_reason(two, name, advice):
    """Triton's, and what may help."""
    reason, said = two.why_none(name)

    assert (
        f"failed to poll model '{name}': model not found in any model repository."
        == (reason)
    )
    assert advice == said


@pytest.mark.parametrize(("count", "more"), [(20, ""), (21, " and 1 more")])
def test_the_first_20_known_models_are_named(repository, count, more):
    """Further ones are counted."""
    for number in range(count - len(repository.names())):
        (repository.private_root / f"m{number:02}").mkdir(parents=True)
    shown = ", ".join(repository.names()[:20])

    assert count == len(repository.names())
    assert f"Known models: {shown}{more}." == repository.why_none("entirely")[1]


def test_the_choice_of_a_configuration_reaches_the_models(tmp_path):
    """Models of all folders use it."""
    (tmp_path / "m").mkdir()
    repository = ModelRepository(tmp_path, "small")
    assert "small" == repository.directory("m").config_name
    repository.close()
