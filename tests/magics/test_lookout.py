"""Specification of who looks at runs while nothing tells of them."""

import threading

import pytest

from blsnb.magics import lookout
from blsnb.magics.lookout import Lookout


class Looked:
    """Something that goes on until it is over."""

    def __init__(self):
        self.looks = threading.Semaphore(0)
        self.goes_on = True
        self.lookout = Lookout(self._look)

    def _look(self):
        self.looks.release()
        return self.goes_on


@pytest.fixture
def looked(monkeypatch):
    monkeypatch.setattr(lookout, "_PAUSE_S", 0.001)
    looked = Looked()
    yield looked
    looked.lookout.close()


def threads():
    """The threads that look."""
    return [each for each in threading.enumerate() if each.name == "blsnb live view"]


def test_it_looks_on_one_thread_however_often_it_is_woken(looked):
    """Whoever begins a run wakes it."""
    for _ in range(3):
        looked.lookout.wake()
        assert looked.looks.acquire(timeout=10)

    assert 1 == len(threads())


def test_it_ends_when_nothing_is_left_and_can_be_woken_again(looked):
    """No thread is there while no run is underway."""
    for _ in range(2):
        looked.goes_on = True
        looked.lookout.wake()
        assert looked.looks.acquire(timeout=10)
        [thread] = threads()
        looked.goes_on = False
        thread.join(10)

        assert [] == threads()


def test_a_look_that_fails_is_the_last(looked, caplog):
    """It is logged, and the runs never notice."""
    looked.lookout._look = None
    looked.lookout.wake()
    for thread in threads():
        thread.join(10)

    assert [] == threads()
    assert "a look at the runs underway failed" in caplog.text


def test_closing_it_ends_the_thread(looked):
    """Safe to repeat."""
    looked.lookout.wake()
    looked.lookout.close()
    looked.lookout.close()

    assert [] == threads()
