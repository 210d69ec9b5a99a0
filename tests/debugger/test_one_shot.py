"""Specification of breakpoints that blsnb sets itself for a step."""

from __future__ import annotations

import sys
from contextlib import contextmanager

import pytest

from blsnb.debugger import one_shot
from blsnb.debugger.process_debugger import Stop
from blsnb.debugger.steps import DebuggerSteps

FILE = "model.py"
REACH = compile("hit = is_hit()", FILE, "exec")


class FakeDebugger:
    """A debugger that keeps the breakpoints that it has."""

    def __init__(self) -> None:
        self.places = []

    @contextmanager
    def held(self):
        yield True

    def add_breakpoints(self, places, condition):
        self.places = list(places)
        return self.places

    def remove_breakpoints(self, added):
        self.places = [place for place in self.places if place not in added]


def reached() -> bool:
    """Return whether a frame of the file stops at the breakpoint's condition."""
    names = {"is_hit": one_shot.is_hit}
    exec(REACH, names)
    return names["hit"]


def stop_at(frame, *, is_own: bool) -> Stop:
    """Return a stop that no step has led to."""
    return Stop(frame, is_own, False, *[lambda: None] * 3)


@pytest.fixture
def debugger():
    fake = FakeDebugger()
    yield fake
    one_shot.disarm()


def test_the_first_frame_that_reaches_the_lines_stops(debugger):
    """Children on other threads that reach them at the same moment continue."""
    one_shot.arm(debugger, [(FILE, 1)], lambda frame: True)

    assert [True, False, False] == [reached() for _ in range(3)]


def test_a_frame_that_is_not_wanted_continues(debugger):
    """A later frame may still be the wanted one."""
    wanted = iter([False, True])
    one_shot.arm(debugger, [(FILE, 1)], lambda frame: next(wanted))

    assert [False, True] == [reached() for _ in range(2)]


def test_a_thread_that_stops_late_with_another_leaves_its_step_alone(debugger):
    """The other thread has continued in the meantime, and its step is not over."""
    steps, frame = DebuggerSteps(), sys._getframe()
    steps.stopped(stop_at(frame, is_own=True))
    steps.resumed(frame)
    one_shot.arm(debugger, [(FILE, 1)], lambda frame: True)
    steps.stopped(stop_at(frame, is_own=False))

    assert [(FILE, 1)] == debugger.places


def test_the_next_request_at_a_stop_ends_the_earlier_step(debugger):
    """Its breakpoints would stop a thread that was meant to continue."""
    steps = DebuggerSteps()
    one_shot.arm(debugger, [(FILE, 1)], lambda frame: True)
    steps.stopped(stop_at(sys._getframe(), is_own=False))

    assert "continue" == steps.request("continue")
    assert [] == debugger.places
