"""Kill -9 at any line of an export: every model in the folder is whole."""

from __future__ import annotations

import subprocess
import sys
import tempfile

import killed_exports
import killed_write_backs
import pytest

from blsnb.repository.repository import ModelRepository

WHOLE = """
import sys
from blsnb.repository.repository import ModelRepository
repository = ModelRepository()
with repository.changing("m", {"1/model.py": "x"}):
    print(repository.private_root, flush=True)
    sys.stdin.read()
"""


@pytest.mark.timeout(1500)
@pytest.mark.parametrize(
    ("how", "step"),
    [
        ("exchange", 431),
        (killed_exports.TWO_STEPS, 457),
        pytest.param("exchange", 3, marks=pytest.mark.slow),
        pytest.param(killed_exports.TWO_STEPS, 3, marks=pytest.mark.slow),
    ],
)
def test_a_killed_export_leaves_whole_models(tmp_path, how, step, figures):
    """Nothing else is in the folder that Triton could take for a model."""
    target = tmp_path / "beside" / "out"
    target.mkdir(parents=True)

    printed = killed_exports.run(target, how, step=step)
    assert " lines" in printed
    figures(kills=len(printed.splitlines()) - 1)


@pytest.mark.timeout(1500)
@pytest.mark.parametrize(
    ("how", "step"),
    [
        ("exchange", 131),
        (killed_exports.TWO_STEPS, 137),
        pytest.param("exchange", 2, marks=pytest.mark.slow),
        pytest.param(killed_exports.TWO_STEPS, 2, marks=pytest.mark.slow),
    ],
)
def test_a_killed_export_in_place_is_whole_or_nothing(tmp_path, how, step, figures):
    """The next import completes or undoes it, over all models."""
    printed = killed_write_backs.run(tmp_path / "models", how, step)
    assert " lines" in printed
    figures(kills=len(printed.splitlines()) - 1)


def test_the_next_repository_removes_what_a_killed_one_left(tmp_path, monkeypatch):
    """A kernel that is killed cannot remove its folder."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with subprocess.Popen(
        [sys.executable, "-c", WHOLE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        folder = process.stdout.readline().strip()
        first = ModelRepository()
        assert {folder, str(first.private_root)} == set(map(str, tmp_path.iterdir()))
        process.kill()

    second = ModelRepository()
    assert {first.private_root, second.private_root} == set(tmp_path.iterdir())
    first.close()
    second.close()
