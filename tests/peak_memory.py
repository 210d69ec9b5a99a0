"""Measure the peak memory of a piece of code, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

_TIMEOUT_S = 120
_SCRIPT = """
import json, sys

def peak():
    # Not getrusage(): its maximum includes that of the process before exec.
    with open("/proc/self/status") as status:
        [line] = [line for line in status if line.startswith("VmHWM")]
    return int(line.split()[1]) << 10

result = None
{prepare}
before = peak()
{work}
print(json.dumps([peak() - before, result]))
"""


class Measured(NamedTuple):
    """The memory of a piece of code, and its value of ``result``."""

    grown: int
    """Increase of the process's peak resident memory in bytes."""
    result: Any


def measure(prepare: str, work: str, *arguments: str | Path) -> Measured:
    """Run Python code in a new process and measure its second part.

    Parameters
    ----------
    prepare
        Imports and other code that is not measured.
    work
        Code that sets ``result``, a JSON value.
    arguments
        ``sys.argv[1:]``.
    """
    script = _SCRIPT.format(
        prepare=textwrap.dedent(prepare), work=textwrap.dedent(work)
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    return Measured(*json.loads(done.stdout))
