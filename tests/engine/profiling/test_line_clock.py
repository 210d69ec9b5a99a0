"""Specification of the clock of lines: which line the time between two events is of."""

import sys

import pytest

from blsnb.engine.profiling.line_clock import ThreadLines


@pytest.fixture
def counts():
    return {}


@pytest.fixture
def lines(counts):
    return ThreadLines(counts)


def frame():
    """Return a frame of its own, always of the same code."""
    return sys._getframe()


def told(counts):
    """Return hits and time by line."""
    return {line: (each.hits, each.ns) for (_, line), each in counts.items()}


def test_the_time_of_a_line_ends_with_the_next_one(lines, counts):
    """The last line ends with its frame."""
    one = frame()
    lines.enter(one, 0, False)
    for line, at in ((3, 10), (4, 30), (3, 35)):
        lines.line(one, line, at)
    lines.leave(one, 100)

    assert {3: (2, 85), 4: (1, 5)} == told(counts)


def test_a_line_includes_what_it_calls(lines, counts):
    """The callee's lines have their own time, too."""
    caller, callee = frame(), frame()
    lines.enter(caller, 0, False)
    lines.line(caller, 3, 0)
    lines.enter(callee, 10, False)
    lines.line(callee, 8, 10)
    lines.leave(callee, 40)
    lines.leave(caller, 50)

    assert {3: (1, 50), 8: (1, 30)} == told(counts)


def test_a_line_that_calls_itself_counts_its_time_once(lines, counts):
    """The total of a line never exceeds the time that passed."""
    frames = [frame(), frame(), frame()]
    for depth, each in enumerate(frames):
        lines.enter(each, 10 * depth, False)
        lines.line(each, 3, 10 * depth)
    for each in reversed(frames):
        lines.leave(each, 60)

    assert {3: (3, 60)} == told(counts)


def test_a_comprehension_is_part_of_its_line(lines, counts):
    """On 3.11 it has code of its own, whose time must not be added."""
    caller, inner = frame(), next(sys._getframe() for _ in [0])
    lines.enter(caller, 0, False)
    lines.line(caller, 3, 0)
    lines.enter(inner, 10, False)
    lines.line(inner, 3, 10)
    lines.leave(inner, 40)
    lines.leave(caller, 50)

    assert 50 == sum([each.ns for each in counts.values()])


def test_a_suspended_frame_takes_no_time(lines, counts):
    """It resumes in its line, which is not executed once more."""
    one = frame()
    lines.enter(one, 0, False)
    lines.line(one, one.f_lineno, 0)
    lines.leave(one, 10)
    lines.enter(one, 1000, True)
    lines.leave(one, 1005)

    assert {one.f_lineno: (1, 15)} == told(counts)


def test_waiting_for_a_call_takes_no_time(lines, counts):
    """Only the frame that began to wait ends it."""
    one, bls = frame(), frame()
    lines.enter(one, 0, False)
    lines.line(one, 3, 0)
    lines.wait(bls, 10)
    lines.go_on(one, 500)
    assert lines.waiting is bls
    lines.go_on(bls, 1000)
    lines.leave(one, 1007)

    assert {3: (1, 17)} == told(counts)
    assert lines.is_idle


def test_events_of_unknown_frames_are_ignored(lines, counts):
    """A frame that was open before the timer began has no lines."""
    one, other = frame(), frame()
    lines.leave(other, 5)
    lines.enter(one, 10, False)
    lines.line(other, 9, 11)
    lines.leave(other, 12)
    lines.line(one, 3, 13)
    lines.leave(one, 20)

    assert {3: (1, 7)} == told(counts)
