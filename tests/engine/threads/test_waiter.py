"""A wait that can be woken once."""

from __future__ import annotations

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
