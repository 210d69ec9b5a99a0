"""Exceptions raised in another thread, and dropped again."""

from __future__ import annotations

import sys
import threading
from operator import attrgetter

import pytest
from interrupts import traced_events
from waiting import until

from blsnb.engine.threads import async_exception


class Raised(BaseException):
    """What is raised."""


def test_a_dropped_exception_leaves_nothing_pending():
    """Debuggers of Python 3.11 hang otherwise."""
    async_exception.clear()

    assert "call" in traced_events()


class Blocked:
    """A thread in native code."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self._lock = threading.Lock()
        self._lock.acquire()
        self._thread = threading.Thread(target=self._work)
        self._thread.start()
        assert self._thread.ident is not None
        self.id = self._thread.ident

    def _work(self) -> None:
        self._lock.acquire()
        self.seen.append("went on")

    def release(self) -> None:
        """Let it end."""
        self._lock.release()
        self._thread.join()


def test_an_exception_that_a_blocked_thread_never_takes_is_withdrawn():
    """The thread continues, and debuggers work."""
    blocked = Blocked()
    async_exception.raise_in(blocked.id, Raised)

    async_exception.withdraw(blocked.id)

    assert "call" in traced_events()
    blocked.release()
    assert ["went on"] == blocked.seen


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python 3.11 stands still")
@pytest.mark.parametrize(
    "raised",
    [
        lambda blocked: async_exception.raise_in(blocked.id, Raised),
        lambda blocked: async_exception.raise_if(attrgetter("id"), blocked, Raised),
        lambda blocked: async_exception.withdraw(blocked.id),
    ],
    ids=["raise_in", "raise_if", "withdraw"],
)
def test_a_debugger_continues_while_a_blocked_thread_is_interrupted(raised):
    """On Python 3.11 no traced function begins while an exception is pending."""
    blocked = Blocked()

    assert "call" in traced_events(lambda: raised(blocked))
    blocked.release()
    assert ["went on"] == blocked.seen


def test_a_debugged_thread_is_interrupted_in_python_code():
    """It need not return from native code."""
    seen = []

    def work() -> None:
        try:
            while True:
                pass
        except Raised:
            seen.append("raised")

    thread = threading.Thread(target=work)
    thread.start()
    assert thread.ident is not None

    def interrupt() -> None:
        async_exception.raise_in(thread.ident, Raised)

    assert until(lambda: bool(traced_events(interrupt) and seen))
    thread.join()

    assert ["raised"] == seen
