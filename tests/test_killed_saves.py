"""Kill -9 at any line of a save: the old file or the new one is there."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("killed_saves.py")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["run.blsrun", "run.html"])
@pytest.mark.parametrize("step", [97, pytest.param(1, marks=pytest.mark.slow)])
def test_a_killed_save_leaves_the_old_file_or_the_new(tmp_path, name, step, figures):
    """The next save removes what was left over."""
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore::DeprecationWarning",
            PROGRAM,
            tmp_path / name,
            str(step),
        ],
        capture_output=True,
        text=True,
        timeout=550,
    )

    assert 0 == done.returncode, done.stdout[-300:] + done.stderr
    figures(kills=len(done.stdout.splitlines()) - 1)
