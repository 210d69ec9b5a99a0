"""Which loads wait for each other, and what an interrupt leaves."""

from __future__ import annotations

import contextlib
import sys
import threading

from asserting import every

from blsnb.engine.loading import load_lock
from blsnb.engine.loading.load_lock import LoadLock


def is_free(lock: LoadLock) -> bool:
    """Whether another thread can hold a lock."""
    held = threading.Event()

    def hold() -> None:
        with lock.hold("other"):
            held.set()

    thread = threading.Thread(target=hold, daemon=True)
    thread.start()
    thread.join(5)
    return held.is_set()


def interrupted_at(step: int, lock: LoadLock) -> bool:
    """Hold a lock with an interrupt at a step of its code; return whether it came.

    Python handles signals when a function begins and after calls.
    """
    left = step

    def profile(frame, event, _):
        nonlocal left
        is_step = event in ("call", "c_return")
        if is_step and frame.f_code.co_filename == load_lock.__file__:
            left -= 1
            if left == 0:
                sys.setprofile(None)
                raise KeyboardInterrupt

    try:
        with contextlib.suppress(KeyboardInterrupt):
            sys.setprofile(profile)
            with lock.hold("m"), lock.hold("inner"):
                pass
    finally:
        sys.setprofile(None)
    return left <= 0


def test_an_interrupt_at_any_moment_leaves_the_lock_free():
    """It is neither held by an ended load nor released twice."""
    results = []
    for step in range(1, 500):
        lock = LoadLock()
        if not interrupted_at(step, lock):
            break
        results.append((step, is_free(lock) and not lock.is_held_for("m")))

    assert every(free for _, free in results)
    assert 10 < len(results) < 400


def test_a_load_waits_for_another():
    """Only one load runs at a time."""
    lock, ended = LoadLock(), []

    def load() -> None:
        with lock.hold("second"):
            ended.append("second")

    thread = threading.Thread(target=load)
    with lock.hold("first"):
        thread.start()
        thread.join(0.05)
        ended.append("first")
    thread.join(60)

    assert ["first", "second"] == ended


def test_a_wait_may_end_without_the_lock():
    """A closing server does not wait for a load that hangs."""
    lock = LoadLock()
    entered = threading.Event()

    def close() -> None:
        with lock.hold("", wait_s=0.01):
            entered.set()

    with lock.hold("m"):
        thread = threading.Thread(target=close)
        thread.start()
        thread.join(60)

        assert entered.is_set()
        assert lock.is_held_for("m")
    assert is_free(lock)


def test_a_load_within_a_load_is_part_of_it():
    """A hook that loads a model does not wait for its own load."""
    lock = LoadLock()
    with lock.hold("outer"), lock.hold("inner"):
        assert every(lock.is_held_for(name) for name in ("outer", "inner"))
    assert not lock.is_held_for("outer")
