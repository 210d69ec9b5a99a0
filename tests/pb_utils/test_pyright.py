"""The type stubs are correct for pyright and editors based on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .checked_sources import (
    NAMES,
    PLANTED,
    RIGHT,
    STUBS,
    WRONG,
    planted,
    sample_models,
)

# The package brings pyright itself, and its Node comes from a package as well.
OWN_NODE = {"PYRIGHT_PYTHON_GLOBAL_NODE": "0"}
FIRST = PLANTED.count("\n") + 1
# What other packages say of their types is not of the stubs.
FOREIGN = ("import onnxruntime", "import boxes", "import cupy", "lines import")


def own_models():
    """Return sources of correct models whose other imports have no stubs."""
    return {
        name: source
        for name, source in sample_models().items()
        if not any(words in source for words in FOREIGN)
    }


def pyright(folder: Path) -> list[dict]:
    """Return pyright's findings in the files of a folder."""
    command = [sys.executable, "-m", "pyright", "--outputjson"]
    done = subprocess.run(
        [*command, "--pythonpath", sys.executable, "."],
        cwd=folder,
        env={**os.environ, **OWN_NODE},
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)["generalDiagnostics"]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Errors by file and line, from 1 on."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "stubs").mkdir()
    for name in NAMES:
        (folder / "stubs" / name).symlink_to(STUBS / f"{name}-stubs")
    (folder / "pyrightconfig.json").write_text('{"stubPath": "stubs"}')
    for name, source in {**own_models(), "planted": planted()}.items():
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
    errors: dict[str, dict[int, str]] = {}
    for row in pyright(folder):
        if row["severity"] == "error":
            lines = errors.setdefault(Path(row["file"]).stem, {})
            lines[row["range"]["start"]["line"] + 1] = row["message"]
    return errors


@pytest.mark.parametrize("name", own_models())
def test_a_correct_model_has_no_errors(found, name):
    """For models that use only pb_utils and NumPy."""
    assert {} == found.get(name, {})


def test_correct_calls_are_accepted_and_each_mistake_is_found(found):
    """Exactly the wrong lines are reported."""
    wrong = range(FIRST + len(RIGHT), FIRST + len(RIGHT) + len(WRONG))

    assert sorted(wrong) == sorted(found["planted"])
