"""Distribute tests over the processes of pytest-xdist."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

LONG_LIVED = ("browser", "conformance", "notebooks")
"""Folders with servers that several tests share."""
WAITING = ("tests/conformance/", "tests/parity/", "tests/backends/test_remote_standin")
"""Beginnings of the paths of tests that mostly wait for a real server."""
TOGETHER = {
    **dict.fromkeys(
        (
            "tests/browser/test_browsing.py",
            "tests/browser/test_compared_notebook.py",
            "tests/browser/test_connection.py",
            "tests/browser/test_debugger.py",
            "tests/browser/test_form.py",
            "tests/browser/test_identity.py",
            "tests/browser/test_keyboard.py",
            "tests/browser/test_live.py",
            "tests/browser/test_live_endings.py",
            "tests/browser/test_monitor.py",
            "tests/browser/test_notebook.py",
            "tests/browser/test_notebook7.py",
            "tests/browser/test_shared_code.py",
            "tests/browser/test_watch.py",
        ),
        "browser with Jupyter",
    ),
    "tests/browser": "browser",
    "tests/browser/panel": "browser with the panel",
    "tests/magics/debugging": "tests/magics/debugging",
    "tests/magics/debugging/test_breakpoints.py": (
        "tests/magics/debugging/test_breakpoints.py"
    ),
    "tests/notebooks": "notebooks",
    **dict.fromkeys(
        (
            "tests/recorder/test_faults_on_triton.py",
            "tests/recorder/test_production.py",
            "tests/recorder/test_recorded_rows.py",
            "tests/recorder/test_replay.py",
            "tests/recorder/test_traces_of_calls.py",
        ),
        "recorder with a real server",
    ),
}
"""Files and folders whose tests share a server that starts slowly."""
QUIET = (
    "tests/conformance/test_cancellation.py",
    "tests/conformance/test_composed.py",
    "tests/conformance/test_dynamic_batching.py",
    "tests/conformance/test_instances.py",
    "tests/conformance/test_latency_summaries.py",
    "tests/conformance/test_random_batching.py",
    "tests/conformance/test_random_rates.py",
    "tests/conformance/test_random_sequences.py",
    "tests/conformance/test_rate_limiter.py",
    "tests/conformance/test_rescheduling.py",
    "tests/conformance/test_sequences.py",
    "tests/conformance/test_statistics.py",
    "tests/conformance/test_stopping.py",
    "tests/engine/profiling",
    "tests/engine/request/test_abandoned.py",
    "tests/engine/request/test_reader.py",
    "tests/engine/test_interrupt.py",
    "tests/engine/test_interrupt_elsewhere.py",
    "tests/magics/debugging",
    "tests/magics/test_interrupts.py",
    "tests/parity/test_beside.py",
    "tests/serving/test_starvation.py",
)
"""Files and folders whose models and servers wait for real times."""
DURATIONS = Path(__file__).with_name("durations.json")
RECORD = "BLSNB_RECORD_DURATIONS"
"""Environment variable: 1 to rewrite the measured durations."""
_SHORT_S = 1


def share_of(nodeid: str) -> str:
    """Return the share of a test: its file, or a group of `TOGETHER`."""
    path = PurePosixPath(nodeid.split("::", 1)[0])
    for each in (path, *path.parents):
        if str(each) in TOGETHER:
            return TOGETHER[str(each)]
    return str(path)


def waits(share: str) -> bool:
    """Return whether a share mostly waits, and leaves the processor to others."""
    return share.startswith(WAITING)


def is_quiet(share: str) -> bool:
    """Return whether a share needs a machine that is not busy."""
    return share.startswith(QUIET)


def next_share(
    shares: Iterable[str], seconds: dict[str, int], *, waiting_first: bool
) -> str:
    """Return the longest share of the preferred kind, else of the other one.

    Quiet shares come last.
    """
    return max(
        shares,
        key=lambda each: (
            not is_quiet(each),
            waits(each) == waiting_first,
            seconds.get(each, _SHORT_S),
        ),
    )


class ByServers(LoadFileScheduling):
    """Assigns shares to processes, the longest first.

    Every second process prefers shares that wait, the others those that compute, so
    that the processors are busy throughout. Quiet shares come last, since they mostly
    wait.
    """

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        super().__init__(config, log)
        self._seconds = json.loads(DURATIONS.read_text(encoding="utf-8"))

    def _split_scope(self, nodeid: str) -> str:
        return share_of(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        number = int(node.gateway.id.removeprefix("gw"))
        waiting_first = number % 2 == 1
        share = next_share(self.workqueue, self._seconds, waiting_first=waiting_first)
        self.workqueue.move_to_end(share, last=False)
        super()._assign_work_unit(node)


class Recorder:
    """Writes the durations of shares at the end of a session."""

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> None:
        """Sum set-up, call and tear-down of the tests of each share."""
        seconds = Counter[str]()
        for reports in terminalreporter.stats.values():
            for each in reports:
                if isinstance(each, pytest.TestReport):
                    seconds[share_of(each.nodeid)] += each.duration
        lines = [
            f"{json.dumps(share)}: {round(taken)}"
            for share, taken in sorted(seconds.items())
            if round(taken) > _SHORT_S
        ]
        DURATIONS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
