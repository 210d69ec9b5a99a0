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


TESTS: dict[str, dict[str, object]] = {
    "crashes twice": {"enough": 3},
    "crashes three times": {"enough": 4},
    "refuses to start": {"end": "raise SystemExit(1)"},
    "was stopped": {"end": "os.kill(os.getpid(), signal.SIGTERM)"},
    "has the text of a crash": {
        "end": "pass",
        "words": "UNAVAILABLE: Socket closed, lock_exception",
    },
    # The last: its crash would belong to the next test of a real server.
    "is not a server's test": {"marks": ""},
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Return pytest's outcomes of each test; one process runs all of them."""
    folder = tmp_path_factory.mktemp("tests")
    for number, test in enumerate(TESTS.values()):
        given = {"marks": REAL, "enough": 2, "end": CRASH, "words": ""}
        (folder / f"test_{number}.py").write_text(TEST.format(**given | test))
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = triton_server\n")
    command = [sys.executable, "-m", "pytest", "-rA", "-p", "crash_retries"]
    paths = [str(HERE), str(HERE.parent)]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    ended = subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True
    )
    found = re.findall(r"^([A-Z]+) test_(\d)\.py::", ended.stdout, re.MULTILINE)
    return {
        name: [outcome for outcome, of in found if of == str(number)]
        for number, name in enumerate(TESTS)
    }


def test_a_test_runs_at_most_three_times(outcomes):
    """If it fails each time, it has failed."""
    assert ["PASSED"] == outcomes["crashes twice"]
    assert ["FAILED"] == outcomes["crashes three times"]


@pytest.mark.parametrize("name", list(TESTS)[2:])
def test_a_failure_without_a_crash_is_not_repeated(outcomes, name):
    """Neither its text nor another end of the server matters."""
    assert ["FAILED"] == outcomes[name]
