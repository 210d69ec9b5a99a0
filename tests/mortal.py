"""The real server dies at times, of its own; a test that met that is run again."""

from __future__ import annotations

import re

import pytest
from _pytest.runner import runtestprotocol

TRIES = 3
DEATHS = re.compile(
    # What it says itself, and what those say whom it does not answer any more. It
    # takes a model's process for dead that a busy machine has let stand still.
    r"lock_exception|is not healthy|UNAVAILABLE|went away|ServerDied|Socket closed"
    r"|Connection refused"
)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> object:
    """Run a test of the real server again if it died meanwhile, and only then."""
    if item.get_closest_marker("triton_server") is None:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for tries_left in reversed(range(TRIES)):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if not tries_left or not any(map(_tells_of_a_death, reports)):
            break
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _tells_of_a_death(report: pytest.TestReport) -> bool:
    return report.failed and bool(DEATHS.search(report.longreprtext))
