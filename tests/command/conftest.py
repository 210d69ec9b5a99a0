"""The command in this process, and in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import blsnb as package
from blsnb.command import main

_SOURCES = Path(package.__file__).parents[1]
"""The folder of the package under test, which may not be the installed one."""


class Ended(NamedTuple):
    """How a command ended, and what it wrote."""

    status: int
    stdout: str
    stderr: str


@pytest.fixture
def blsnb(capsys) -> Callable[..., Ended]:
    """Return what runs the command in this process."""

    def run(*words: object) -> Ended:
        status = main([str(word) for word in words])
        return Ended(status, *capsys.readouterr())

    return run


@pytest.fixture
def process(tmp_path) -> Callable[..., Ended]:
    """Return a function that runs the command in a separate process.

    Modules in a folder named ``modules`` there take the place of installed ones.
    """

    def run(*words: object, stdin: str = "") -> Ended:
        folders = [str(tmp_path / "modules"), str(_SOURCES)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
        done = subprocess.run(
            [sys.executable, "-W", "error", "-m", "blsnb", *map(str, words)],
            cwd=tmp_path,
            env=environment,
            input=stdin,
            capture_output=True,
            text=True,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    return run


def write_module(folder: Path, name: str, source: str) -> None:
    """Write a package that ``python -m`` runs."""
    package = folder / "modules" / name
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(source)
