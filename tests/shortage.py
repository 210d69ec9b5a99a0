"""Threads that do not start, one or all, as where the system has none left."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any
from unittest import mock

_OF_CLIENTS = ("(_run)", "(channel_spin)", "test ")
"""Threads of the tests' own clients, by a part of their names."""


class Starts:
    """Counts the threads that start, and lets one of them, or all, fail."""

    def __init__(self, failing: int | None) -> None:
        self._failing = failing
        self.count = 0
        self.failed: list[str] = []

    def fails(self, name: str) -> bool:
        """Whether the thread that starts now does not."""
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
    """Let no thread start, but those of clients."""
    return _starts(None)


def one_thread_fails(number: int) -> contextlib.AbstractContextManager[Starts]:
    """Let one start of a thread fail, counted from 1."""
    return _starts(number)
