"""Cells of imported models are compared with their folders, and written back."""

from __future__ import annotations

import os
import resource
import signal
import stat

import pytest
from whole_text import whole

import blsnb
from blsnb.errors import RepositoryError
from blsnb.magics import default_server as default
from blsnb.parts.server_parts import parts_of

from .models import DOUBLE
from .test_followed import CONFIG, INFER, SOURCE, by_rename, make, times

CELL = "%%triton_model double\n"


@pytest.fixture
def repository(notebook, tmp_path):
    """A folder with two models, imported into a notebook."""
    root = tmp_path / "models"
    file = make(root)
    make(root, "other")
    notebook.run(f"%triton import {root}")
    return root, file, notebook


def test_a_cell_differs_from_the_folder_of_its_model(repository):
    """The difference is unified, from the folder to the cell; the folder stays."""
    root, file, notebook = repository
    notebook.run(CELL + times(3))
    [shown] = notebook.run("%triton diff").texts

    assert shown.startswith(
        f"double: cell {notebook.cell(1)} against {root / 'double'}"
    )
    assert "--- double/1/model.py (folder)" in shown
    assert f"+++ double/1/model.py (cell {notebook.cell(1)})" in shown
    assert '-            y = pb_utils.Tensor("Y", x * 2)' in shown
    assert '+            y = pb_utils.Tensor("Y", x * 3)' in shown
    assert "config.pbtxt" not in shown
    assert SOURCE == file.read_text()
    assert [shown] == notebook.run("%triton diff double").texts
    assert (
        "other does not differ from its folder."
        in notebook.run("%triton diff other").stdout
    )


def test_the_difference_is_html_that_a_page_can_show(repository):
    """Escaped, since a model's text is foreign."""
    _, _, notebook = repository
    notebook.run(CELL + SOURCE + "# <script>alert(1)</script>\n")
    [shown] = notebook.run("%triton diff").outputs

    assert "&lt;script&gt;" in shown["text/html"]
    assert "<script>" not in shown["text/html"]


def test_without_a_difference_one_sentence_says_so(repository):
    """Of an unknown model it is an error, of a cell's own model, too."""
    _, _, notebook = repository
    printed = notebook.run("%triton diff").stdout
    assert "No cell differs from the folder of an imported model." in printed

    assert "failed to poll model 'none'" in str(notebook.run("%triton diff none").error)
    notebook.run(DOUBLE.replace("double", "own"))
    error = notebook.run("%triton diff own").error
    assert (
        "own: it comes from a cell, not from an imported folder: write it to one with "
        "%triton export PATH own"
    ) == str(error)


def test_the_table_of_models_shows_where_each_comes_from_and_which_differ(repository):
    """A cell, a folder, or a cell that differs from its folder."""
    root, _, notebook = repository
    notebook.run(CELL + times(3))
    notebook.run(DOUBLE.replace("double", "own"))
    [shown] = notebook.run("%triton models").texts
    head, double, other, own = shown.splitlines()

    assert ["model", "version", "state", "from"] == head.split()[:4]
    at = f"cell {notebook.cell(2)}, differs from {root / 'double'}: %triton diff double"
    assert at in double
    assert f"{root / 'other'}  " in other
    assert f"cell {notebook.cell(1)}  " in own


def test_a_model_of_which_only_the_configuration_is_a_cell_is_from_its_folder(
    repository,
):
    """As `%triton edit` brings it: its configuration is run first."""
    root, _, notebook = repository
    notebook.run(f"%%triton_config double\n{CONFIG}")
    double = notebook.run("%triton models").texts[0].splitlines()[1]

    assert f"{root / 'double'}  " in double


def test_what_cells_changed_is_written_back(repository):
    """The difference is shown first; other files stay, and so does the mode."""
    root, file, notebook = repository
    foreign = file.with_name("weights.bin")
    foreign.write_bytes(b"\0")
    file.chmod(0o640)
    inode = foreign.stat().st_ino
    notebook.run(CELL + times(3))
    difference, card = notebook.run("%triton export --in-place").texts

    assert "+            y = pb_utils.Tensor" in difference
    assert f"written to {root}: double" == card
    assert times(3) == file.read_text()
    assert 0o640 == stat.S_IMODE(file.stat().st_mode)
    assert inode == foreign.stat().st_ino
    assert {"config.pbtxt", "1"} == {each.name for each in (root / "double").iterdir()}
    assert {"double", "other"} == {each.name for each in root.iterdir()}
    assert CONFIG == (root / "double" / "config.pbtxt").read_text()


def test_an_export_in_place_is_no_saved_file(repository):
    """What was written is not loaded again, and a file saved later does not differ."""
    root, file, notebook = repository
    notebook.run(CELL + times(3))
    notebook.run("%triton export --in-place")

    assert [] == notebook.run("pass").outputs
    assert "No cell differs" in notebook.run("%triton diff").stdout
    assert "differs" not in notebook.run("%triton models").texts[0]
    [card] = notebook.run("%triton export --in-place").texts
    assert "nothing to write: no cell differs from the folder of its model" == card

    by_rename(file, times(5))
    ran = notebook.run(INFER)
    assert "differs" not in ran.texts[0]
    assert [5.0] == ran.value["Y"].tolist()
    assert str(root / "double") in notebook.run("%triton models").texts[0]


def test_an_unchanged_text_keeps_its_bytes(notebook, tmp_path):
    """Carriage returns, BOM and a last line without end, in both exports."""
    root = tmp_path / "models"
    file = make(root)
    original = b"\xef\xbb\xbf" + SOURCE.rstrip().replace("\n", "\r\n").encode()
    file.write_bytes(original)
    notebook.run(f"%triton import {root}")
    notebook.run(CELL + SOURCE)
    notebook.run("%triton export --in-place")
    assert original == file.read_bytes()
    notebook.run(f"%triton export {tmp_path / 'out'}")
    assert original == (tmp_path / "out" / "double" / "1" / "model.py").read_bytes()

    notebook.run(CELL + times(3))
    notebook.run("%triton export --in-place")
    assert original.replace(b"* 2", b"* 3") == file.read_bytes()


def test_an_empty_configuration_is_not_removed(notebook, tmp_path):
    """A cell with the source alone has changed the source alone."""
    file = make(tmp_path / "models")
    config = file.parents[1] / "config.pbtxt"
    config.write_text("")
    completed = """
    @staticmethod
    def auto_complete_config(config):
        config.add_input({"name": "X", "data_type": "TYPE_FP32", "dims": [-1]})
        config.add_output({"name": "Y", "data_type": "TYPE_FP32", "dims": [-1]})
        return config
"""
    file.write_text(SOURCE + completed)
    notebook.run(f"%triton import {tmp_path / 'models'}")
    notebook.run(CELL + times(3) + completed)
    notebook.run("%triton export --in-place")

    assert "x * 3" in file.read_text()
    assert "" == config.read_text()


def test_a_comment_in_another_encoding_keeps_its_bytes(notebook, tmp_path):
    """Also where an option of a cell changes the configuration."""
    file = make(tmp_path / "models")
    config = file.parents[1] / "config.pbtxt"
    original = b"# gr\xfc\xdfe\n" + config.read_bytes()
    config.write_bytes(original)
    notebook.run(f"%triton import {tmp_path / 'models'}")
    notebook.run(CELL + times(3))
    notebook.run("%triton export --in-place")
    assert original == config.read_bytes()

    notebook.run("%%triton_model double --instances 2\n" + times(4))
    notebook.run("%triton export --in-place")
    assert config.read_bytes().startswith(b"# gr\xfc\xdfe\n")
    assert b"count: 2" in config.read_bytes()


def test_a_file_that_changed_in_the_folder_too_is_not_overwritten(repository):
    """The error has both changes; nothing was written, of no model."""
    root, file, notebook = repository
    notebook.run(CELL + times(3))
    notebook.run("%%triton_model other\n" + times(4))
    by_rename(file, times(7))
    [notice] = notebook.run("pass").texts
    assert (
        f"double/1/model.py was saved in {root}, but a cell also changed it" in notice
    )
    [shown] = notebook.run("%triton diff double").texts
    assert "⚠ changed in the folder, too: 1/model.py" in shown

    refused = notebook.run("%triton export --in-place")
    error = refused.error
    assert isinstance(error, RepositoryError)
    assert [] == refused.texts
    assert f"double/1/model.py changed in {root} after a cell was made" in str(error)
    assert '+            y = pb_utils.Tensor("Y", x * 7)' in str(error)
    assert '+            y = pb_utils.Tensor("Y", x * 3)' in str(error)
    assert times(7) == file.read_text()
    assert SOURCE == (root / "other" / "1" / "model.py").read_text()

    notebook.run("%triton export --in-place --force")
    assert times(3) == file.read_text()
    assert times(4) == (root / "other" / "1" / "model.py").read_text()


def test_a_folder_that_became_as_the_cell_agrees(repository):
    """Whoever wrote it."""
    _, file, notebook = repository
    notebook.run(CELL + times(3))
    by_rename(file, times(3))
    assert [] == notebook.run("pass").outputs
    assert "No cell differs" in notebook.run("%triton diff").stdout


def test_files_that_no_cell_changed_are_followed_beside_those_that_one_did(repository):
    """The cell's text serves, with the configuration that was saved."""
    root, _, notebook = repository
    notebook.run(CELL + times(3))
    (root / "double" / "config.pbtxt").write_text(f"max_batch_size: 8\n{CONFIG}")
    notebook.run("pass")

    assert 8 == default.server().model("double").max_batch_size
    ran = notebook.run(INFER.replace("[1.0]", "[[1.0]]"))
    assert [[3.0]] == ran.value["Y"].tolist()
    difference, _ = notebook.run("%triton export --in-place").texts
    assert "config.pbtxt" not in difference


def test_only_named_models_are_written(repository):
    """The others stay changed."""
    root, file, notebook = repository
    notebook.run(CELL + times(3))
    notebook.run("%%triton_model other\n" + times(4))
    notebook.run("%triton export --in-place other")

    assert SOURCE == file.read_text()
    assert times(4) == (root / "other" / "1" / "model.py").read_text()
    assert "double: cell" in notebook.run("%triton diff").texts[0]


def test_new_and_removed_files_are_written_back(repository):
    """A version, a helper in a new folder; a file that is gone."""
    root, file, notebook = repository
    old = file.with_name("old.py")
    old.write_text("")
    notebook.run("pass")
    notebook.run(CELL.replace("\n", " --version 3\n") + times(3))
    notebook.run("%%triton_file double/3/parts/helper.py\nX = 1\n")
    parts_of(default.server()).models.change("double", {"1/old.py": None})
    notebook.run("%triton export --in-place")

    found = sorted(
        path.relative_to(root / "double").as_posix()
        for path in (root / "double").rglob("*")
        if path.is_file()
    )
    expected = ["1/model.py", "3/model.py", "3/parts/helper.py", "config.pbtxt"]
    assert expected == found
    assert [] == notebook.run("pass").outputs


def test_a_link_that_leaves_the_repository_is_not_followed(repository, tmp_path):
    """One within it is: the file that it leads to is written."""
    root, file, notebook = repository
    outside = tmp_path / "outside.py"
    outside.write_text(SOURCE)
    file.unlink()
    file.symlink_to(outside)
    notebook.run("pass")
    notebook.run(CELL + times(3))
    error = notebook.run("%triton export --in-place").error
    assert f"{file} is a link out of {root}, to {outside}" in str(error)
    assert SOURCE == outside.read_text()

    shared = root / "shared.py"
    shared.write_text(SOURCE)
    file.unlink()
    file.symlink_to("../../shared.py")
    notebook.run("%triton export --in-place")
    assert times(3) == shared.read_text()
    assert file.is_symlink()


def test_a_model_of_a_cell_alone_is_named_and_left_out(repository):
    """It has no folder to be written to."""
    _, _, notebook = repository
    notebook.run(CELL + times(3))
    notebook.run(DOUBLE.replace("double", "own"))
    _, card = notebook.run("%triton export --in-place").texts
    assert "⚠ own: it comes from a cell, not from an imported folder" in card


def test_a_failed_write_changes_nothing(repository):
    """The disk is full, by a limit on the size of files."""
    root, file, notebook = repository
    notebook.run(CELL + times(3))
    notebook.run("%%triton_model other\n" + times(4) + "#" * 9000)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
        error = notebook.run("%triton export --in-place").error
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)

    assert "the disk is full; nothing was written" in str(error)
    assert SOURCE == file.read_text()
    assert {"double", "other"} == {each.name for each in root.iterdir()}
    assert ["model.py"] == os.listdir(file.parent)


def test_in_place_and_a_path_exclude_each_other(tmp_path):
    """In Python; the magic takes names instead."""
    text = (
        f"path={str(tmp_path)!r} and in_place=True exclude each other: in place, "
        "models are written to the folders that they come from"
    )
    with blsnb.Server() as server, pytest.raises(ValueError, match=whole(text)):
        server.export_repository(tmp_path, in_place=True)
