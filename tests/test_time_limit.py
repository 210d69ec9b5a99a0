"""A test that exceeds its time limit reports what its processes did."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import pytest
from time_limit import busyness, processes, stacks

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
    # It may not have begun to wait when it is described.
    assert re.search(rf"{child.pid}: \w+, 1 threads, \d+\.\d s of processor", described)
    assert "Fatal Python error: Aborted" in written
    assert 'File "<string>", line 1 in <module>' in written
    assert -signal.SIGABRT == child.returncode


@pytest.mark.parametrize(
    ("load", "shared_by"), [(0.0, 1.0), (2.0, 1.0), (5.0, 2.5), (40.0, 3.0)]
)
def test_a_processor_is_shared_by_one_to_three(monkeypatch, load, shared_by):
    """The load of a minute, on two processors."""
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)

    assert shared_by == busyness()


def test_a_time_limit_is_longer_on_a_busy_machine(
    pytester: pytest.Pytester, monkeypatch
):
    """It is exceeded once the processors are free again."""
    pytester.makeconftest("from time_limit import pytest_timeout_set_timer")
    pytester.makepyfile(
        "import os, signal\n"
        "import pytest\n"
        "@pytest.mark.timeout(30)\n"
        "def test_stuck(monkeypatch):\n"
        "    for processes, text in ((1000, 'in time'), (0, 'too late')):\n"
        "        monkeypatch.setattr(os, 'getloadavg', lambda: (processes, 0, 0))\n"
        "        signal.raise_signal(signal.SIGALRM)\n"
        "        print(text)\n"
    )

    outcome = pytester.runpytest("-p", "no:cacheprovider")

    outcome.assert_outcomes(failed=1)
    outcome.stdout.fnmatch_lines(["*Timeout (>30.0s)*", "in time"])
    outcome.stdout.no_fnmatch_line("too late")


def test_a_time_limit_calls_it(pytester: pytest.Pytester, monkeypatch):
    """The sections stand in the report of the test."""
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
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
