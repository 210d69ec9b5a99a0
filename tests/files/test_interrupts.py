"""Work that Ctrl-C ends, and what it leaves alone."""

from __future__ import annotations

import signal
import threading

import pytest

from blsnb.files.interrupts import (
    check,
    ended_once,
    uninterrupted,
    without_interrupts,
)


def test_a_second_ctrl_c_leaves_the_cleanup_alone():
    """Only the first one is raised, and the handler is restored afterwards."""
    before = signal.getsignal(signal.SIGINT)
    done = []

    def work() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
            done.append("went on")
        finally:
            signal.raise_signal(signal.SIGINT)
            done.append("cleaned up")

    with pytest.raises(KeyboardInterrupt):
        ended_once(work)

    assert ["cleaned up"] == done
    assert before is signal.getsignal(signal.SIGINT)


def test_work_without_ctrl_c_returns_its_result():
    """Its handler is gone as well."""
    before = signal.getsignal(signal.SIGINT)

    assert 3 == ended_once(lambda: 3)
    assert before is signal.getsignal(signal.SIGINT)


def _sent() -> str:
    """Do short work without interrupts, and more after it."""
    text = without_interrupts(lambda: "rendered", _sent.__code__)
    signal.raise_signal(signal.SIGINT)
    return f"{text} and sent"


def test_ctrl_c_does_not_end_the_rest_of_a_function():
    """It ends what runs after the function, and the handler is then restored."""
    before = signal.getsignal(signal.SIGINT)

    assert "rendered and sent" == _sent()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    assert before is signal.getsignal(signal.SIGINT)


def test_work_at_the_end_of_a_cell_restores_the_handler():
    """It does so although no Ctrl-C came after the function."""
    before = signal.getsignal(signal.SIGINT)
    _sent()

    without_interrupts(lambda: None)

    assert before is signal.getsignal(signal.SIGINT)


def test_uninterrupted_work_ends_before_ctrl_c_is_raised():
    """Work within it does so, too: the signal is raised once, at the end of all."""
    before = signal.getsignal(signal.SIGINT)
    done = []

    def inner() -> None:
        signal.raise_signal(signal.SIGINT)
        done.append("inner")

    def work() -> None:
        uninterrupted(inner)
        done.append("outer")

    with pytest.raises(KeyboardInterrupt):
        uninterrupted(work)

    assert ["inner", "outer"] == done
    assert before is signal.getsignal(signal.SIGINT)
    check()


def test_a_check_ends_uninterrupted_work_after_ctrl_c():
    """Without a signal it does nothing; other threads are left alone."""
    done = []

    def work() -> None:
        check()
        signal.raise_signal(signal.SIGINT)
        thread = threading.Thread(target=lambda: done.append(check()))
        thread.start()
        thread.join()
        check()
        done.append("went on")

    with pytest.raises(KeyboardInterrupt):
        uninterrupted(work)

    assert [None] == done
    check()
    assert 3 == uninterrupted(lambda: 3)


def test_work_of_another_thread_leaves_the_handler_alone():
    """Only the main thread can set it."""
    done = []
    for run in (uninterrupted, ended_once):
        thread = threading.Thread(target=lambda run=run: done.append(run(lambda: 3)))
        thread.start()
        thread.join()

    assert [3, 3] == done
