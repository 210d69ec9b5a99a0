"""A thread that looks from time to time."""

from __future__ import annotations

import threading

from blsnb.engine.threads.watcher import Watcher


def test_it_calls_periodically_until_it_is_closed():
    """Its thread has then ended."""
    looks = threading.Semaphore(0)
    watcher = Watcher(looks.release, 0.001, "watch")
    watcher.start()
    for _ in range(3):
        assert looks.acquire(timeout=60)
    assert "watch" in [thread.name for thread in threading.enumerate()]

    watcher.close(10)
    assert "watch" not in [thread.name for thread in threading.enumerate()]
    watcher.close(10)


def test_closing_waits_at_most_for_its_timeout():
    """Closing returns even if a call hangs."""
    entered, leave = threading.Event(), threading.Event()
    watcher = Watcher(lambda: (entered.set(), leave.wait(60))[0], 0.001, "watch")
    watcher.start()
    assert entered.wait(60)
    watcher.close(0.01)

    leave.set()
    watcher.close(10)


def test_one_that_never_began_can_be_closed():
    """A server that fails to start does so."""
    Watcher(lambda: None, 1, "watch").close(1)


def test_the_function_may_close_it():
    """It does not wait for itself."""
    closed = threading.Event()

    def look() -> None:
        watcher.close(10)
        closed.set()

    watcher = Watcher(look, 0.001, "watch")
    watcher.start()
    assert closed.wait(60)
