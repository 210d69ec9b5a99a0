"""The clock of an engine, which a test moves."""

from __future__ import annotations

import threading
import time

import pytest

from blsnb import Server
from blsnb.clock.pausing_clock import CLOCK
from blsnb.parts.server_parts import parts_of


class MovedClock:
    """The clock of a server, which stands still until it is moved.

    Parameters
    ----------
    patch
        Undone at the end.
    """

    def __init__(self, server: Server, patch: pytest.MonkeyPatch) -> None:
        self._alarm = parts_of(server).engine._alarm
        self._begin_ns = self._now_ns = time.monotonic_ns()
        patch.setattr(CLOCK, "now_ns", lambda: self._now_ns)

    def move(self, ns: int) -> None:
        """Move on to a time since the beginning; alarms before it have their times."""
        end_ns = self._begin_ns + ns
        while (due_ns := self._due_ns()) <= end_ns:
            self._now_ns = max(due_ns, self._now_ns)
            passed = threading.Event()
            # Called after all else that is due then.
            self._alarm.call_at(self._now_ns, passed.set)
            assert passed.wait(60)
        self._now_ns = end_ns

    def _due_ns(self) -> int:
        """Return when the next alarm is due; far in the future without one."""
        with self._alarm._changed:
            return min((each[0] for each in self._alarm._due), default=1 << 62)
