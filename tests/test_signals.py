"""The tests run wherever they are started from."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent
INTERRUPT = "engine/test_interrupt.py::test_ctrl_c_ends_nested_calls"


def test_ctrl_c_is_tested_also_where_it_is_ignored():
    """A shell script that starts the tests with ``&`` ignores SIGINT."""
    test = [sys.executable, "-m", "pytest", "-q", f"{TESTS / INTERRUPT}"]
    command = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", *test, "--timeout=30"]
    environment = {**os.environ, "PYTHONPATH": str(TESTS.parent)}
    ended = subprocess.run(
        command, cwd=TESTS.parent, env=environment, capture_output=True, text=True
    )

    assert (0, "1 passed") == (
        ended.returncode,
        ended.stdout.splitlines()[-1].partition(" in ")[0],
    )
