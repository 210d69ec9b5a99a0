"""A test of the real server that met its death is run again; any other is not."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TEST = """
import pytest

runs = []

{marks}
def test_it():
    runs.append(1)
    assert len(runs) >= {enough}, {words!r}
"""
DIED = "terminate called after throwing boost::interprocess::lock_exception"
REAL = "@pytest.mark.triton_server"


def outcome(folder: Path, **test: object) -> str:
    """Return what pytest says of a test."""
    (folder / "test_it.py").write_text(TEST.format(**test))
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = triton_server\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "mortal", str(folder)]
    variables = {**os.environ, "PYTHONPATH": str(HERE)}
    ended = subprocess.run(command, env=variables, capture_output=True, text=True)
    return re.sub(r" in .*", "", ended.stdout.splitlines()[-1])


@pytest.mark.parametrize(("enough", "said"), [(3, "1 passed"), (4, "1 failed")])
def test_it_is_run_three_times(tmp_path, enough, said):
    """One that fails again and again has failed."""
    assert said == outcome(tmp_path, marks=REAL, enough=enough, words=DIED)


@pytest.mark.parametrize(("marks", "words"), [(REAL, "2 is not 3"), ("", DIED)])
def test_what_met_no_death_of_it_is_run_once(tmp_path, marks, words):
    """Another failure is one; a test of ours alone meets none."""
    assert "1 failed" == outcome(tmp_path, marks=marks, enough=2, words=words)
