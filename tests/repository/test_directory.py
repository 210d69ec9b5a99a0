"""One model's folder, read as Triton reads it."""

from __future__ import annotations

import os

import pytest

from blsnb.errors import ModelConfigError
from blsnb.model.config import parse_pbtxt
from blsnb.model.normalise import normalise
from blsnb.repository.directory import ModelDirectory


@pytest.fixture
def folder(tmp_path):
    """A model with three versions and things that are none."""
    for name in ("1", "2", "10", "01", "one", "3x", "-4"):
        (tmp_path / "model" / name).mkdir(parents=True)
    (tmp_path / "model" / "5").write_text("a file")
    return ModelDirectory(tmp_path / "model")


def test_versions_are_numbers(folder):
    """Ascending by value; other names are ignored, as on Triton."""
    assert [1, 2, 10] == folder.versions
    assert "model" == folder.name


def test_a_folder_may_bear_another_name_than_its_model(tmp_path):
    """As one does that was written for a model from elsewhere."""
    given = ModelDirectory(tmp_path, "model", parse_pbtxt("max_batch_size: 4"))
    (tmp_path / "config.pbtxt").write_text("max_batch_size: 2")

    assert ("model", 4) == (given.name, given.config().max_batch_size)


def test_a_folder_is_as_new_as_the_newest_thing_in_it(folder):
    """Files and folders, at any depth, and the folder itself."""
    inner = folder.version_dir(2) / "sub" / "file"
    inner.parent.mkdir()
    inner.touch()
    for path in (inner, folder.version_dir(10), folder.path):
        later_ns = folder.modified_ns() + 1_000_000_000
        os.utime(path, ns=(later_ns, later_ns))
        assert later_ns == folder.modified_ns()


def test_a_folder_that_is_not_there_has_no_versions(tmp_path):
    """Nor a model file."""
    nowhere = ModelDirectory(tmp_path / "nowhere")

    assert [] == nowhere.versions
    assert not nowhere.has_model_file()


def test_a_model_file_in_any_version_tells_the_backend(folder):
    """A folder without one is no Python model."""
    assert not folder.has_model_file()
    (folder.version_dir(2) / "model.py").write_text("")

    assert folder.has_model_file()


@pytest.mark.parametrize(
    ("policy", "chosen"),
    [
        ("", [10]),
        ("version_policy { latest { num_versions: 2 } }", [2, 10]),
        ("version_policy { latest { num_versions: 9 } }", [1, 2, 10]),
        ("version_policy { all {} }", [1, 2, 10]),
        ("version_policy { specific { versions: [ 2, 7 ] } }", [2]),
    ],
)
def test_the_policy_chooses_versions(folder, policy, chosen):
    """Only of those that are there."""
    config = normalise(parse_pbtxt(policy), model_name="model", has_model_py=True)

    assert chosen == folder.chosen_versions(config)


def test_no_configuration_is_an_empty_one(folder):
    """``auto_complete_config`` may fill it."""
    assert 0 == len(folder.config().inputs)


def test_the_configuration_is_read(folder):
    """As written, not yet completed."""
    folder.config_file.write_text("max_batch_size: 4")

    assert 4 == folder.config().max_batch_size


def test_a_configuration_that_is_no_text_names_its_file(folder):
    """The reader learns which file, and that it is not UTF-8."""
    folder.config_file.write_bytes(b"\xff\xfe")

    with pytest.raises(ModelConfigError) as caught:
        folder.config()

    assert str(folder.config_file) in caught.value.message
    assert "UTF-8" in caught.value.advice
