"""One model's folder, read as Triton reads it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from blsnb.errors import ModelConfigError
from blsnb.model.config import parse_pbtxt
from blsnb.model.normalization import normalise
from blsnb.repository.directory import (
    ModelDirectory,
    folders_in,
    is_version_changed,
    newest_ns,
    version_number,
)


@pytest.fixture
def folder(tmp_path):
    """A model with three versions and other entries."""
    for name in ("1", "2", "10", "01", "one", "3x", "-4"):
        (tmp_path / "model" / name).mkdir(parents=True)
    (tmp_path / "model" / "5").write_text("a file")
    return ModelDirectory(tmp_path / "model")


def test_versions_are_numbers(folder):
    """Ascending by value; other names are ignored, as on Triton."""
    assert [1, 2, 3, 10] == folder.versions
    assert "model" == folder.name


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("0", 0),
        ("00", None),
        ("3abc", 3),
        ("+5", 5),
        (" 6", 6),
        ("-4", None),
        ("abc", None),
        ("٣", None),
        ("+" + "0" * 100 + "7", 7),
        ("", None),
        ("9223372036854775807", (1 << 63) - 1),
        ("9223372036854775808", None),
    ],
)
def test_a_version_is_read_as_c_reads_a_number(name, number):
    """Text after it is ignored; a number on which Triton crashes is no version."""
    assert number == version_number(name)


def test_a_folder_that_cannot_exist_has_no_folders():
    """A half-typed line may name one."""
    assert [] == folders_in(Path("a\0b"))


def test_a_folder_may_bear_another_name_than_its_model(tmp_path):
    """A temporary folder does."""
    given = ModelDirectory(tmp_path, "model", parse_pbtxt("max_batch_size: 4"))
    (tmp_path / "config.pbtxt").write_text("max_batch_size: 2")

    assert ("model", 4) == (given.name, given.config().max_batch_size)


def test_a_folder_is_as_new_as_the_newest_thing_in_it(folder):
    """Files and folders, at any depth, and the folder itself."""
    inner = folder.version_dir(2) / "sub" / "file"
    inner.parent.mkdir()
    inner.touch()
    for path in (inner, folder.version_dir(10), folder.path):
        later_ns = newest_ns(folder.files()) + 1_000_000_000
        os.utime(path, ns=(later_ns, later_ns))
        assert later_ns == newest_ns(folder.files())


def test_a_folder_that_is_not_there_has_no_versions(tmp_path):
    """It has no model file, either."""
    nowhere = ModelDirectory(tmp_path / "nowhere")

    assert [] == nowhere.versions
    assert not nowhere.has_model_file()


def test_a_model_file_in_any_version_tells_the_backend(folder):
    """A folder without one is no model yet."""
    assert not folder.has_model_file()
    (folder.version_dir(2) / "model.py").write_text("")

    assert folder.has_model_file()


def test_the_first_folder_by_name_is_looked_into(tmp_path):
    """10 comes before 2 and a hidden folder first, as on Triton."""
    folder = ModelDirectory(tmp_path)
    (folder.version_dir(10) / "model.onnx").mkdir(parents=True)
    (folder.version_dir(2) / "model.py").mkdir(parents=True)

    assert {"model.onnx": True} == folder.first_entries()

    (folder.path / ".hidden").mkdir()

    assert {} == folder.first_entries()


@pytest.mark.parametrize(
    ("policy", "chosen"),
    [
        ("", [10]),
        ("version_policy { latest { num_versions: 2 } }", [3, 10]),
        ("version_policy { latest { num_versions: 9 } }", [1, 2, 3, 10]),
        ("version_policy { all {} }", [1, 2, 3, 10]),
        ("version_policy { }", [1, 2, 3, 10]),
        ("version_policy { specific { versions: [ 2, 7 ] } }", [2]),
    ],
)
def test_the_policy_chooses_versions(folder, policy, chosen):
    """Only of those that are there."""
    config = normalise(parse_pbtxt(policy), model_name="model")

    assert chosen == folder.chosen_versions(config)


def test_no_configuration_is_an_empty_one(folder):
    """``auto_complete_config`` may fill it."""
    assert 0 == len(folder.config().inputs)


def test_the_configuration_is_read(folder):
    """It is read as written, not completed."""
    folder.config_file.write_text("max_batch_size: 4")

    assert 4 == folder.config().max_batch_size


def test_a_configuration_that_is_no_text_names_its_file(folder):
    """The reader learns which file, and that it is not UTF-8."""
    folder.config_file.write_bytes(b"\xff\xfe")

    with pytest.raises(ModelConfigError) as caught:
        folder.config()

    assert str(folder.config_file) in caught.value.message
    assert "UTF-8" in caught.value.advice


def test_comments_of_a_configuration_may_contain_any_bytes(folder):
    """Triton skips them, too; elsewhere such bytes are refused, with their line."""
    folder.config_file.write_bytes(b"# gr\xfc\xdfe\nmax_batch_size: 4")

    assert 4 == folder.config().max_batch_size
    folder.config_file.write_bytes(b'max_batch_size: 4\nname: "gr\xfc\xdfe"')
    with pytest.raises(ModelConfigError) as caught:
        folder.config()

    assert caught.value.advice.endswith(
        "Line 2 is not UTF-8 text, which only comments may be."
    )


@pytest.mark.parametrize(
    ("make", "reason"), [(os.mkdir, "Is a directory"), (os.mkfifo, "Not a file")]
)
def test_a_configuration_that_cannot_be_read_names_its_file(folder, make, reason):
    """A folder, with which Triton ends, or a pipe, at which it could wait forever."""
    make(folder.config_file)

    with pytest.raises(ModelConfigError) as caught:
        folder.config()

    assert (
        f"failed to open text file for read {folder.config_file}: {reason}",
        "INTERNAL",
        "poll",
    ) == (caught.value.message, caught.value.code, caught.value.stage)
    assert "It must be a readable file." == caught.value.advice


def test_another_configuration_may_be_chosen_by_name(folder):
    """If the model has one of that name; else its ``config.pbtxt`` counts."""
    folder.config_file.write_text("max_batch_size: 1")
    chosen = ModelDirectory(folder.path, config_name="small")
    assert 1 == chosen.config().max_batch_size

    (folder.path / "configs").mkdir()
    (folder.path / "configs" / "small.pbtxt").write_text("max_batch_size: 2")
    assert 2 == chosen.config().max_batch_size
    assert 1 == folder.config().max_batch_size


def later(folder, path):
    """Make a file newer than all others, and return its time."""
    later_ns = newest_ns(folder.files()) + 1_000_000_000
    os.utime(path, ns=(later_ns, later_ns))
    return later_ns


def test_what_a_link_leads_to_is_looked_at_too(folder, tmp_path):
    """A version is often a link to where it was built."""
    built = tmp_path / "built" / "deep"
    built.mkdir(parents=True)
    (built / "model.py").touch()
    (folder.path / "7").symlink_to(tmp_path / "built")

    assert later(folder, built / "model.py") == newest_ns(folder.files())
    assert 7 in folder.versions


def test_many_links_in_circles_are_followed_once(folder):
    """Otherwise there would be endlessly many paths."""
    for number in range(20):
        (folder.path / "1" / f"up{number}").symlink_to("..")

    assert later(folder, folder.version_dir(2)) == newest_ns(folder.files())
    assert 1 + len(folder.versions) < len(folder.files()) < 40


@pytest.mark.parametrize("to", ["nowhere", "..", "loop"])
def test_links_that_lead_nowhere_end(folder, to):
    """They belong to the folder, but have no time."""
    (folder.path / "1" / "loop").symlink_to(to)

    assert later(folder, folder.version_dir(2)) == newest_ns(folder.files())
    assert 0 == newest_ns(ModelDirectory(folder.path / "none").files())


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        ("1/model.py", {1}),
        ("10/deep/file", {10}),
        ("labels.txt", {1, 10}),
        ("shared/file", {1, 10}),
        ("5", {1, 10}),
        ("config.pbtxt", set()),
    ],
)
def test_a_file_is_of_one_version_or_of_all(folder, path, changed):
    """The configuration and other versions do not count."""
    before = folder.files()
    file = folder.path / path
    file.parent.mkdir(exist_ok=True)
    file.write_text("new")
    later_ns = newest_ns(folder.files()) + 1
    os.utime(file, ns=(later_ns, later_ns))
    now = folder.files()

    found = {n for n in (1, 10) if is_version_changed(n, before, now, "config.pbtxt")}

    assert changed == found
