"""A test that exceeds its time limit reports what its processes did."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from time_limit import processes, stacks

pytest_plugins = ["pytester"]

_FOREVER = "import signal; print(flush=True); signal.pause()"


def test_a_stuck_child_is_described():
    """Its state, its command, and the line where it stands."""
    command = [sys.executable, "-X", "faulthandler", "-c", _FOREVER]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as child:
        child.stdout.readline()

        def wait(self: object) -> str:
            return stacks(sys._getframe())

        described, written = "\n".join(processes()), wait(child)

    assert f"{os.getpid()}: running" in described
    assert f"{child.pid}: sleeping, 1 threads" in described
    assert "Fatal Python error: Aborted" in written
    assert 'File "<string>", line 1 in <module>' in written
    assert -signal.SIGABRT == child.returncode


def test_a_time_limit_calls_it(pytester: pytest.Pytester):
    """The sections stand in the report of the test."""
    pytester.makeconftest("from time_limit import pytest_timeout_set_timer")
    pytester.makepyfile(
        "import signal, time\n"
        "import pytest\n"
        "@pytest.mark.timeout(30)\n"
        "def test_stuck():\n"
        "    signal.raise_signal(signal.SIGALRM)\n"
    )

    outcome = pytester.runpytest("-p", "no:cacheprovider")

    outcome.assert_outcomes(failed=1)
    outcome.stdout.fnmatch_lines(
        ["*Timeout (>30.0s)*", "*processes*", "load *", "*stacks*", "no child with*"]
    )
