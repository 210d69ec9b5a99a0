"""`%triton edit` brings a model into the notebook, as cells that make it again."""

from __future__ import annotations

import pytest

from blsnb.magics import default_server as default
from blsnb.magics.imported.model_cells import cells_of
from blsnb.parts.server_parts import parts_of
from blsnb.repository.directory import ModelDirectory

from ..test_followed import CONFIG, INFER, SOURCE, make, times


@pytest.fixture
def repository(notebook, tmp_path):
    root = tmp_path / "models"
    file = make(root)
    file.with_name("helper.py").write_text("FACTOR = 2\n")
    file.with_name("empty.py").touch()
    file.with_name("weights.bin").write_bytes(b"\0\1")
    (root / "double" / "labels.txt").write_text("cat\ndog\n")
    return root, file, notebook


def test_the_cells_are_the_configuration_the_sources_and_the_texts(repository):
    """In this order; binary and empty files are no cells."""
    root, _, _ = repository
    cells = cells_of(ModelDirectory(root / "double"))

    assert [
        f"%%triton_config double\n{CONFIG}".removesuffix("\n"),
        f"%%triton_model double\n{SOURCE}".removesuffix("\n"),
        "%%triton_file double/1/helper.py\nFACTOR = 2",
        "%%triton_file double/labels.txt\ncat\ndog",
    ] == cells


def test_texts_of_at_most_64_kb_become_cells(tmp_path):
    """Larger files, binary ones and texts in other encodings stay with the model."""
    files = {
        "a.txt": b"a" * 65536,
        "b.txt": b"b" * 65537,
        "c.bin": b"c\0",
        "d.txt": b"\xe4",
        "e.txt": b"\xef\xbb\xbfe\r\nf\rg\n",
        "f.txt": b"f\n\n",
    }
    (tmp_path / "m").mkdir()
    for name, content in files.items():
        (tmp_path / "m" / name).write_bytes(content)

    assert [
        "%%triton_file m/a.txt\n" + "a" * 65536,
        "%%triton_file m/e.txt\ne\nf\ng",
        "%%triton_file m/f.txt\nf\n\n",
    ] == cells_of(ModelDirectory(tmp_path / "m"))


def test_the_source_is_set_and_the_other_cells_are_printed(repository):
    """To be copied, each into a cell of its own."""
    root, _, notebook = repository
    notebook.run(f"%triton import {root}")
    ran = notebook.run("%triton edit double")
    config, source, *others = cells_of(ModelDirectory(root / "double"))

    assert source == notebook.shell.rl_next_input
    assert "double has 3 more files; copy each into its own cell:" in ran.stdout
    assert [] == [each for each in (config, *others) if each not in ran.stdout]
    assert source not in ran.stdout


def test_the_source_of_the_newest_version_is_set(repository):
    """Versions are compared as numbers."""
    root, file, notebook = repository
    for number in (9, 10):
        (root / "double" / str(number)).mkdir()
        copied = root / "double" / str(number) / "model.py"
        copied.write_text(file.read_text())
    notebook.run(f"%triton import {root}")
    notebook.run("%triton edit double")

    newest = notebook.shell.rl_next_input.partition("\n")[0]
    assert "%%triton_model double --version 10" == newest


def test_a_model_without_a_source_begins_with_its_configuration(repository):
    """Such as an ensemble."""
    root, file, notebook = repository
    file.unlink()
    notebook.run(f"%triton import {root}")
    notebook.run("%triton edit double")

    assert f"%%triton_config double\n{CONFIG}".strip() == (
        notebook.shell.rl_next_input.strip()
    )


@pytest.mark.parametrize("form", ["\n", "\r\n", "bom", "no end", "blank end"])
def test_running_the_cells_changes_nothing(repository, form):
    """Whatever the form of the files: exports keep their bytes."""
    root, file, notebook = repository
    texts = {"bom": f"\ufeff{SOURCE}", "no end": SOURCE.rstrip(), "blank end": "\n\n"}
    text = SOURCE + "\n\n" if form == "blank end" else texts.get(form, SOURCE)
    original = text.replace("\n", "\r\n" if form == "\r\n" else "\n").encode()
    file.write_bytes(original)
    notebook.run(f"%triton import {root}")
    before = {each: each.read_bytes() for each in root.rglob("*") if each.is_file()}
    cells = cells_of(ModelDirectory(root / "double"))
    errors = [notebook.run(cell).error for cell in cells]
    assert [None] * 4 == errors

    assert [2.0] == notebook.run(INFER).value["Y"].tolist()
    assert "No cell differs" in notebook.run("%triton diff").stdout
    notebook.run("%triton export --in-place")
    after = {each: each.read_bytes() for each in root.rglob("*") if each.is_file()}
    assert before == after


def test_a_cell_that_serves_is_brought_in_as_it_is(repository):
    """Its text, not that of the folder."""
    root, _, notebook = repository
    notebook.run(f"%triton import {root}")
    notebook.run("%%triton_model double\n" + times(3))
    directory = parts_of(default.server()).repository.directory("double")

    assert f"%%triton_model double\n{times(3)}".removesuffix("\n") in cells_of(
        directory
    )


def test_versions_and_names_with_spaces_are_written_as_magics_take_them(tmp_path):
    """A version other than 1 is an option; a name with a space is quoted."""
    make(tmp_path, "my model")
    (tmp_path / "my model" / "1").rename(tmp_path / "my model" / "2")
    cells = cells_of(ModelDirectory(tmp_path / "my model"))

    first_lines = [cell.partition("\n")[0] for cell in cells]
    assert ['%%triton_config "my model"', '%%triton_model "my model" --version 2'] == (
        first_lines
    )


def test_a_redefinition_keeps_the_configuration_of_the_folder(repository):
    """A cell without options has none of its own."""
    root, _, notebook = repository
    notebook.run(f"%triton import {root}")
    notebook.run("%%triton_model double\n" + times(3))

    assert [3.0] == notebook.run(INFER).value["Y"].tolist()


@pytest.mark.parametrize("line", ["", "a b", "--all"])
def test_wrong_arguments_show_the_usage(notebook, line):
    """The command takes the name of one model."""
    assert "usage: %triton edit NAME" in notebook.run(f"%triton edit {line}").stderr


@pytest.mark.parametrize("command", ["edit", "diff"])
def test_an_unknown_model_is_refused_with_the_known_ones(repository, command):
    """Triton's words come first, then a similar name."""
    root, _, notebook = repository
    notebook.run(f"%triton import {root}")
    ran = notebook.run(f"%triton {command} dubel")

    text = "failed to poll model 'dubel': model not found in any model repository. "
    known = "Known models: double. Did you mean 'double'?"
    assert text + known in f"{ran.stderr}{ran.error}"
