"""Repeat a test during which a real server crashed, as it does at times."""

from __future__ import annotations

import signal
import subprocess
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from blsnb.parity.triton import server_process

TRIES = 3
CRASHES = {
    -number for number in (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE)
}
"""Exit statuses of crashed processes; no test sends these signals."""


class Crashes:
    """Real servers started by this process, and their crashes."""

    def __init__(self) -> None:
        self._started: list[subprocess.Popen[Any]] = []
        self._reported: set[int] = set()

    def watch(self) -> None:
        """Record every real server that starts from now on."""
        start = server_process._start

        def recorded(*arguments: Any) -> subprocess.Popen[Any]:
            process = start(*arguments)
            self._started.append(process)
            return process

        server_process._start = recorded

    def new(self) -> bool:
        """Return whether a server has crashed since the last call.

        A crash between two tests belongs to the second one.
        """
        crashed = {each.pid for each in self._started if each.poll() in CRASHES}
        found = crashed - self._reported
        self._reported |= found
        return bool(found)


_crashes = Crashes()
_crashes.watch()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> object:
    """Repeat a test of the real server if a server crashed during it, and only then."""
    if item.get_closest_marker("triton_server") is None:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for tries_left in reversed(range(TRIES)):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        crashed = _crashes.new()
        if not (tries_left and crashed and any(each.failed for each in reports)):
            break
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
