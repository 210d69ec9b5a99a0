"""``blsnb lab``: the tutorial notebooks in JupyterLab."""

from __future__ import annotations

import ast
import os

import pytest

from blsnb.magics.commands.tutorial import notebooks

from .conftest import write_module

FIRST = "01_first_pipeline.ipynb"
AS_ROOT = ["--allow-root"] if os.geteuid() == 0 else []


@pytest.fixture(autouse=True)
def jupyterlab(tmp_path):
    """Replace JupyterLab by a module that prints its arguments."""
    write_module(tmp_path, "jupyterlab", "import sys; print(sys.argv[1:])")


def given(stdout: str) -> list[str]:
    """Return the arguments of JupyterLab."""
    words: list[str] = ast.literal_eval(stdout.splitlines()[-1])
    return words


def test_the_first_notebook_is_opened_in_a_folder_with_all(process, tmp_path):
    """The folder is created, and the copies are reported before JupyterLab starts."""
    ended = process("lab", "mine")
    names = {path.name for path in notebooks()}

    assert (0, "") == (ended.status, ended.stderr)
    assert ended.stdout.startswith(f"{len(names)} notebooks written to mine\n")
    assert names == {path.name for path in (tmp_path / "mine").iterdir()}
    assert [f"mine/{FIRST}", *AS_ROOT] == given(ended.stdout)


def test_options_are_jupyterlabs(process, tmp_path):
    """They work without a folder, too; changed notebooks are kept."""
    first = tmp_path / "blsnb-tutorial" / FIRST
    first.parent.mkdir()
    first.write_text("mine")
    ended = process("lab", "--no-browser", "--port", "8889")

    words = [f"blsnb-tutorial/{FIRST}", *AS_ROOT, "--no-browser", "--port", "8889"]
    assert words == given(ended.stdout)
    assert "mine" == first.read_text()


def test_an_impossible_folder_is_an_error(process, tmp_path):
    """The error is one line, and JupyterLab does not start."""
    (tmp_path / "file").write_text("")
    ended = process("lab", "file")

    assert (2, "") == (ended.status, ended.stdout)
    assert "blsnb lab: the notebooks cannot be written to file: File exists\n" == (
        ended.stderr
    )


def test_a_missing_jupyterlab_is_an_error_with_the_install_command(
    blsnb, tmp_path, monkeypatch
):
    """Nothing is copied."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    ended = blsnb("lab", "mine")

    assert 2 == ended.status
    assert ended.stderr.endswith(" -m pip install 'blsnb[lab]'\n")
    assert not (tmp_path / "mine").exists()
