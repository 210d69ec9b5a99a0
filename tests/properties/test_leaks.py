"""Whoever works in one kernel all day has as much memory in the evening."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(
        not Path("/proc/self/statm").exists(),
        reason="resident memory is read from /proc",
    ),
]
HUNT = Path(__file__).with_name("leak_hunt.py")
CALLS = 1_000_000
CYCLES = 10_000
MIB = 1 << 20


def hunt(*what: object) -> dict[str, Any]:
    """Hunt in a process of its own, where nothing else grows or shrinks."""
    command = [sys.executable, str(HUNT), *map(str, what)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)


def test_ten_thousand_models_come_and_go_without_a_trace():
    """No thread, module, line or import hook more than after a thousand, 5 MiB at most.

    Some fail to load, some fail to execute, some have threads of their own.
    """
    found = hunt("cycles", CYCLES)
    settled, end = found["settled"], found["end"]
    grown = end.pop("rss") - settled.pop("rss")

    assert settled == end
    assert grown <= 5 * MIB


@pytest.mark.parametrize("per_run", [1000, CALLS], ids=["many runs", "one run"])
def test_a_million_calls_take_no_more_memory_than_ten_thousand(per_run):
    """A byte for each further call at most, with every call traced."""
    (first, before), *_, (last, after) = hunt("calls", CALLS, per_run)["samples"]

    assert (10_000, CALLS) == (first, last)
    assert after - before <= last - first
