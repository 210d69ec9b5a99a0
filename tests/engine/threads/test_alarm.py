"""Calls at given times: in order of time, on one thread that ends with the server."""

from __future__ import annotations

import threading

import pytest

from blsnb.clock.pausing_clock import CLOCK
from blsnb.engine.threads.alarm import Alarm

LATER_NS = 3600 * 1_000_000_000
PATIENCE_S = 30


@pytest.fixture
def alarm():
    alarm = Alarm()
    yield alarm
    alarm.close()


def test_functions_are_called_in_order_of_time(alarm):
    """Those of one time are called in order of registration, on a daemon thread."""
    seen, go, done = [], threading.Event(), threading.Event()
    alarm.call_at(0, lambda: go.wait(PATIENCE_S))
    for at_ns, name in ((3, "c"), (1, "a"), (2, "b"), (1, "a2")):
        alarm.call_at(at_ns, lambda name=name: seen.append(name))
    alarm.call_at(4, lambda: seen.append(threading.current_thread()))
    alarm.call_at(5, done.set)
    go.set()

    assert done.wait(PATIENCE_S)
    *names, thread = seen
    assert ["a", "a2", "b", "c"] == names
    assert ("blsnb alarm", True) == (thread.name, thread.daemon)


def test_an_earlier_function_does_not_wait_for_a_later_one(alarm):
    """The later one is not called before its time."""
    seen, done = [], threading.Event()
    alarm.call_at(CLOCK.now_ns() + LATER_NS, lambda: seen.append("late"))
    alarm.call_at(CLOCK.now_ns(), done.set)

    assert done.wait(PATIENCE_S)
    assert [] == seen


def test_a_function_that_fails_is_logged(alarm, caplog):
    """The next one is called nevertheless."""
    done = threading.Event()
    alarm.call_at(1, lambda: 1 / 0)
    alarm.call_at(2, done.set)

    assert done.wait(PATIENCE_S)
    [record] = caplog.records
    assert ("blsnb.engine", "an alarm failed") == (record.name, record.getMessage())
    assert ZeroDivisionError is record.exc_info[0]


def test_a_closed_alarm_has_neither_functions_nor_a_thread(alarm):
    """It can be started and closed again without effect."""
    before = set(threading.enumerate())
    alarm.start()
    [thread] = set(threading.enumerate()) - before
    alarm.start()
    assert {thread} == set(threading.enumerate()) - before
    seen = []
    alarm.call_at(CLOCK.now_ns() + LATER_NS, lambda: seen.append(1))

    alarm.close()
    alarm.close()
    alarm.start()
    alarm.call_at(0, lambda: seen.append(2))

    assert not thread.is_alive()
    assert before == set(threading.enumerate())
    assert [] == seen
