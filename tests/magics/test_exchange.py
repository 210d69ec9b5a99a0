"""Models come from folders, and leave into them."""

from __future__ import annotations

import re

import pytest

from blsnb.errors import RepositoryError
from blsnb.magics import default_server as default
from blsnb.parts.server_parts import parts_of

from .models import DOUBLE


@pytest.fixture
def double(notebook):
    notebook.run(DOUBLE)
    return notebook


def test_models_are_exported(double, tmp_path):
    """The card names the folder and its README."""
    double.run(f"folder = {str(tmp_path / 'my models')!r}")
    [shown] = double.run("%triton export {folder}").outputs

    model = tmp_path / "my models" / "double" / "1" / "model.py"
    assert DOUBLE.partition("\n")[2] == model.read_text()
    assert f"1 exported to {tmp_path / 'my models'}: double" in shown["text/plain"]
    assert f"{tmp_path / 'my models' / 'README.md'}" in shown["text/html"]


def test_only_named_models_are_exported(double, tmp_path):
    """An unknown model is named."""
    double.run(DOUBLE.replace("triton_model double", "triton_model another"))
    double.run(f"%triton export {tmp_path} another")
    ran = double.run(f"%triton export {tmp_path} nowhere")

    assert (tmp_path / "another").is_dir()
    assert not (tmp_path / "double").exists()
    assert isinstance(ran.error, RepositoryError)
    assert "nowhere: there is no such model; there are: another, double" in str(
        ran.error
    )


def test_foreign_files_are_overwritten_only_with_force(double, tmp_path):
    """The error names the files and the option."""
    (tmp_path / "README.md").write_text("theirs")
    ran = double.run(f"%triton export {tmp_path}")
    assert "README.md" in str(ran.error)
    assert "--force" in str(ran.error)

    double.run(f"%triton export --force {tmp_path}")
    assert "theirs" != (tmp_path / "README.md").read_text()


def test_export_notes_are_on_the_card(double, tmp_path):
    """Parameters of blsnb are an example."""
    row = 'parameters { key: "BLSNB_THREAD" value { string_value: "instance" } }'
    parts_of(default.server()).models.change("double", {"config.pbtxt": row})
    [shown] = double.run(f"%triton export {tmp_path}").texts

    assert "⚠ double: the parameter BLSNB_THREAD means nothing to Triton" in shown


def test_models_are_imported(double, tmp_path):
    """A table shows their states, with the reason of a failed load."""
    double.run(f"%triton export {tmp_path / 'out'}")
    (tmp_path / "out" / "double").rename(tmp_path / "out" / "imported")
    (tmp_path / "out" / "empty").mkdir()
    [shown] = double.run(f"%triton import {tmp_path / 'out'}").texts

    _, empty, imported = shown.splitlines()
    assert empty.startswith("empty     -        not loaded")
    assert "Could not determine backend for model 'empty'" in empty
    assert imported.startswith("imported  1        READY")
    assert [2.0] == double.run("%triton infer imported X=[1.0]").value["Y"].tolist()


def test_a_model_without_its_weights_is_imported_with_an_advice(notebook, tmp_path):
    """Weights of another backend are often kept elsewhere: a stand-in needs none."""
    (tmp_path / "detector").mkdir()
    config = (
        'platform: "tensorrt_plan" output { name: "Y" data_type: TYPE_FP32 dims: 2 }'
    )
    (tmp_path / "detector" / "config.pbtxt").write_text(config)
    [shown] = notebook.run(f"%triton import {tmp_path}").texts

    command = "%triton standin detector --zeros"
    assert "at least one version must be available" in shown
    assert command in shown
    assert notebook.run(command).error is None


def test_only_named_models_are_imported(double, tmp_path):
    """An unknown model is named."""
    (tmp_path / "empty").mkdir()
    ran = double.run(f"%triton import {tmp_path} nowhere")

    assert isinstance(ran.error, RepositoryError)
    assert "has no model 'nowhere'; it has: empty" in str(ran.error)


def test_a_folder_without_models_is_explained(notebook, tmp_path):
    """An empty table would be unclear."""
    printed = notebook.run(f"%triton import {tmp_path}").stdout

    assert (
        f"There are no models in {tmp_path}: each would be a folder in it.\n"
    ) == printed
    assert (
        "There are no models yet; define one in a %%triton_model cell.\n"
    ) == notebook.run("%triton models").stdout


def test_a_model_is_watched(double):
    """Watching requires the option and ends with an unload."""
    double.run("%triton load double")
    assert [] == default.server().watched
    [card] = double.run("%triton load double --watch").texts
    assert card.startswith("double version 1 READY")
    assert ["double"] == default.server().watched

    double.run("%triton unload double")
    assert [] == default.server().watched


def test_a_configuration_is_written_from_a_run(double):
    """It uses the newest run, or the runs of variables."""
    double.run("one = %triton infer double X=[1.0]")
    double.run("two = %triton infer double X=[1.0,2.0]")

    newest = double.run("%triton config double --from-run").stdout
    assert newest.startswith("# Inferred from one call")
    assert "dims: 2" in newest
    assert "dims: -1" in double.run("%triton config double --from-run one two").stdout
    ran = double.run("%triton config double --from-run nothing")
    assert "'nothing' is not a variable that holds a run" in ran.stderr


def test_warnings_about_a_configuration_are_on_the_card(double):
    """The model loads nevertheless."""
    cell = "%%triton_config double\ndynamic_batching {}\n"
    tensors = "".join(
        f'{field} {{ name: "{name}" data_type: TYPE_FP32 dims: [ -1 ] }}\n'
        for field, name in (("input", "X"), ("output", "Y"))
    )
    [card] = double.run(cell + tensors).texts

    assert "READY" in card
    finding = "dynamic_batching has no effect while max_batch_size is 0"
    assert re.search(rf"⚠ cell In\[\d+\] line 2 \(config.pbtxt:1\): {finding}", card)


def test_warnings_about_a_configuration_follow_an_error(double):
    """They are shown after Triton's text."""
    ran = double.run("%%triton_config double\ninstance_group { kind: KIND_GPU }")

    assert "has kind KIND_GPU but no GPUs are available" in str(ran.error)
    assert "KIND_GPU needs a GPU, and this machine has none" in str(ran.error)
