"""Specification of %triton tutorial."""

from __future__ import annotations

import nbformat
import pytest

from blsnb.magics.commands import tutorial
from blsnb.magics.commands.tutorial import NotebookError, copy_notebooks


@pytest.fixture
def names():
    """Names of the notebooks, in order."""
    return [path.name for path in tutorial.notebooks()]


def test_the_notebooks_are_copied(notebook, tmp_path, names):
    """The copies are unchanged; the output names the first notebook."""
    folder = tmp_path / "a" / "mine"
    ran = notebook.run(f"%triton tutorial {folder}")

    assert names == sorted(path.name for path in folder.iterdir())
    assert (
        f"{len(names)} notebooks written to {folder}\n"
        f"begin with {folder / '01_first_pipeline.ipynb'}\n"
    ) == ran.stdout
    for name in names:
        nbformat.validate(nbformat.read(folder / name, as_version=4))


def test_without_a_folder_one_is_made_in_the_working_folder(
    notebook, tmp_path, monkeypatch, names
):
    """The default folder is created in the working directory."""
    monkeypatch.chdir(tmp_path)
    notebook.run("%triton tutorial")

    assert {*names} == {path.name for path in (tmp_path / "blsnb-tutorial").iterdir()}


def test_changed_notebooks_are_kept(notebook, tmp_path, names):
    """--force replaces them; missing notebooks are copied again."""
    first, second, *_ = names
    copy_notebooks(tmp_path)
    (tmp_path / first).write_text("mine")
    (tmp_path / second).unlink()
    (tmp_path / "own.ipynb").write_text("mine, too")
    ran = notebook.run(f"%triton tutorial {tmp_path}")

    assert "mine" == (tmp_path / first).read_text()
    assert (tmp_path / second).exists()
    kept = f"changed notebooks were kept: {first}\n--force replaces them\n"
    assert kept in ran.stdout

    ran = notebook.run(f"%triton tutorial {tmp_path} --force")
    assert "mine" != (tmp_path / first).read_text()
    assert "mine, too" == (tmp_path / "own.ipynb").read_text()
    assert ran.stdout.startswith(f"1 notebook written to {tmp_path}\n")
    again = notebook.run(f"%triton tutorial {tmp_path}")
    assert again.stdout.startswith(f"{tmp_path} has them all\n")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a b", "unrecognized arguments: b"),
        ("--forced", "unrecognized arguments: --forced"),
        (
            "/proc/none",
            "the notebooks cannot be written to /proc/none: ",
        ),
    ],
)
def test_errors_are_one_line(notebook, line, said):
    """Errors have no traceback."""
    assert said in notebook.run(f"%triton tutorial {line}").stderr


def test_an_installation_without_notebooks_is_an_error(tmp_path, monkeypatch):
    """A packager may have removed them."""
    monkeypatch.setattr(tutorial, "_SOURCES", (tmp_path,))

    with pytest.raises(NotebookError, match=r"has no notebooks$"):
        copy_notebooks(tmp_path / "to")


def test_the_help_is_that_of_the_parser(notebook):
    """The help is printed as for every subcommand."""
    assert "--force" in notebook.run("%triton tutorial --help").stdout
    assert "[FOLDER]" in notebook.run("%triton help tutorial").stdout
