"""A test is repeated if a real server crashed during it, and only then."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TEST = """
import sys
from pathlib import Path

import pytest

from blsnb.parity.triton import server_process
from blsnb.parity.triton.environment import TritonEnv

runs = []
# Stands for the real server; it ends as the test requires.
SERVER = 'import os, signal; {end}'
ENV = TritonEnv(sys.executable, "", sys.executable, "", "none")


{marks}
def test_it(tmp_path):
    runs.append(1)
    command = [sys.executable, "-c", SERVER]
    process = server_process._start(command, ENV, tmp_path / "log")
    process.wait()
    assert len(runs) >= {enough}, {words!r}
"""
REAL = "@pytest.mark.triton_server"
CRASH = "os.abort()"


def outcome(folder: Path, **test: object) -> str:
    """Return pytest's summary of a test."""
    given = {"marks": REAL, "enough": 2, "end": CRASH, "words": ""}
    (folder / "test_it.py").write_text(TEST.format(**given | test))
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = triton_server\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "crash_retries", str(folder)]
    paths = [str(HERE), str(HERE.parent)]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    ended = subprocess.run(command, env=variables, capture_output=True, text=True)
    return re.sub(r" in .*", "", ended.stdout.splitlines()[-1])


@pytest.mark.parametrize(("enough", "said"), [(3, "1 passed"), (4, "1 failed")])
def test_a_test_runs_at_most_three_times(tmp_path, enough, said):
    """If it fails each time, it has failed."""
    assert said == outcome(tmp_path, enough=enough)


@pytest.mark.parametrize(
    "test",
    [
        {"end": "raise SystemExit(1)"},
        {"end": "os.kill(os.getpid(), signal.SIGTERM)"},
        {"marks": ""},
        {"end": "pass", "words": "UNAVAILABLE: Socket closed, lock_exception"},
    ],
    ids=["refused to start", "was stopped", "not a server's test", "text of a crash"],
)
def test_a_failure_without_a_crash_is_not_repeated(tmp_path, test):
    """Neither its text nor another end of the server matters."""
    assert "1 failed" == outcome(tmp_path, **test)
