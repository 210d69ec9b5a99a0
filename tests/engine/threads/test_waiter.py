"""A wait that can be woken once."""

from __future__ import annotations

import signal
import threading

from blsnb.engine.threads.waiter import Waiter


def test_a_wait_that_was_woken_before_ends_at_once():
    """The wake-up is remembered."""
    waiter = Waiter()
    waiter.wake()

    assert waiter.wait(60)


def test_waking_again_changes_nothing():
    """Later waits end at once, too."""
    waiter = Waiter()
    waiter.wake()
    waiter.wake()

    assert [True, True] == [waiter.wait(60), waiter.wait(60)]


def test_a_wait_ends_with_its_time():
    """It returns False."""
    assert not Waiter().wait(0.001)


def test_another_thread_wakes():
    """Another thread can end the wait."""
    waiter = Waiter()
    threading.Timer(0.005, waiter.wake).start()

    assert waiter.wait(60)


def test_all_waiting_threads_are_woken():
    """One wake is enough for any number of waits."""
    waiter = Waiter()
    woken: list[bool] = []
    threads = [
        threading.Thread(target=lambda: woken.append(waiter.wait(60))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    waiter.wake()
    for thread in threads:
        thread.join()

    assert [True] * 3 == woken


class Pressed:
    """A lock; a signal comes as soon as it has been acquired for the first time."""

    def __init__(self, lock: threading.Lock) -> None:
        self._lock, self._signals = lock, iter([signal.SIGINT])
        self.release = lock.release

    def acquire(self, timeout: float) -> bool:
        """Acquire the lock."""
        is_acquired = self._lock.acquire(timeout=timeout)
        for number in self._signals:
            signal.raise_signal(number)
        return is_acquired


def test_a_signals_handler_may_wait_as_well():
    """It is woken together with the wait that it interrupts."""
    waiter, woken = Waiter(), []
    waiter._lock = Pressed(waiter._lock)
    threading.Timer(0.005, waiter.wake).start()
    usual = signal.signal(signal.SIGINT, lambda *_: woken.append(waiter.wait(0.2)))
    try:
        woken.append(waiter.wait(60))
    finally:
        signal.signal(signal.SIGINT, usual)

    assert [True, True] == woken
