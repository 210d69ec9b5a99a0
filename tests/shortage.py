"""Make one or all starts of threads fail, as on a system without free threads."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any
from unittest import mock

_OF_CLIENTS = ("(_run)", "(channel_spin)", "test ")
"""Threads of the tests' own clients, by a part of their names."""


class Starts:
    """Counts starts of threads, and makes one or all of them fail."""

    def __init__(self, failing: int | None) -> None:
        self._failing = failing
        self.count = 0
        self.failed: list[str] = []

    def fails(self, name: str) -> bool:
        """Count a start; return whether it fails."""
        if any(part in name for part in _OF_CLIENTS):
            return False
        self.count += 1
        if self._failing is None or self.count == self._failing:
            self.failed.append(name)
            return True
        return False


@contextlib.contextmanager
def _starts(failing: int | None) -> Iterator[Starts]:
    starts, start = Starts(failing), threading.Thread.start

    def start_or_fail(thread: threading.Thread, *given: Any) -> None:
        if starts.fails(thread.name):
            raise RuntimeError("can't start new thread")
        start(thread, *given)

    with mock.patch.object(threading.Thread, "start", start_or_fail):
        yield starts


def no_thread_starts() -> contextlib.AbstractContextManager[Starts]:
    """Make every start fail, except of clients' threads."""
    return _starts(None)


def one_thread_fails(number: int) -> contextlib.AbstractContextManager[Starts]:
    """Make one start of a thread fail, counted from 1."""
    return _starts(number)
