"""Exceptions raised in another thread, and dropped again."""

from __future__ import annotations

import threading

from interrupts import traced_events

from blsnb.engine.threads import async_exception


class Raised(BaseException):
    """What is raised."""


def test_a_dropped_exception_leaves_nothing_pending():
    """Debuggers of Python 3.11 hang otherwise."""
    async_exception.clear()

    assert "call" in traced_events()


def test_an_exception_that_a_blocked_thread_never_takes_is_withdrawn():
    """The thread continues, and debuggers work."""
    lock = threading.Lock()
    lock.acquire()
    seen = []

    def work() -> None:
        lock.acquire()
        seen.append("went on")

    thread = threading.Thread(target=work)
    thread.start()
    assert thread.ident is not None
    async_exception.raise_in(thread.ident, Raised)

    async_exception.withdraw(thread.ident)

    assert "call" in traced_events()
    lock.release()
    thread.join()
    assert ["went on"] == seen
