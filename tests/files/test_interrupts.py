"""Work that Ctrl-C ends, and what it leaves alone."""

from __future__ import annotations

import signal

import pytest

from blsnb.files.interrupts import ended_once


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
