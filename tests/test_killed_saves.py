"""Kill -9 at any line of a save: the old file or the new one is there."""

from pathlib import Path

import pytest
from faults import printed_by

PROGRAM = Path(__file__).with_name("killed_saves.py")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["run.blsrun", "run.html"])
@pytest.mark.parametrize("step", [97, pytest.param(1, marks=pytest.mark.slow)])
def test_a_killed_save_leaves_the_old_file_or_the_new(tmp_path, name, step, figures):
    """The next save removes what was left over."""
    printed = printed_by(PROGRAM, tmp_path / name, step, timeout_s=550)

    figures(kills=len(printed.splitlines()) - 1)
