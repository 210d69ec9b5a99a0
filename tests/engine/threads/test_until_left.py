"""Exceptions that leave whatever catches them, on each version of Python."""

from __future__ import annotations

import signal
import sys
import threading

import pytest
from waiting import until

from blsnb.engine.threads import async_exception, until_left

PASS = """
    while True:
        try:
            turns[0] += 1
        except BaseException:
            pass
"""
NOTHING = """
    while True:
        turns[0] += 1
        try:
            while True:
                pass
        except BaseException:
            pass
"""
NESTED = """
    while True:
        try:
            try:
                for _ in range(10):
                    turns[0] += 1
            except BaseException:
                pass
        except BaseException:
            turns[0] += 1
"""
SUPPRESS = """
    import contextlib
    while True:
        with contextlib.suppress(BaseException): turns[0] += 1
"""
FINALLY = """
    while True:
        try:
            turns[0] += 1
        finally:
            continue
"""
LOOPS = {
    "pass": PASS,
    "nothing": NOTHING,
    "nested": NESTED,
    "suppress": SUPPRESS,
    "finally": FINALLY,
}
FILE = "swallowing loop"


class Raised(BaseException):
    """What is raised."""


class Swallowing:
    """A function that catches every exception, in a loop without an end."""

    def __init__(self, loop: str) -> None:
        self.turns = [0]
        names = {"turns": self.turns}
        exec(compile(f"def run():{loop}", FILE, "exec"), names)
        self._function = names["run"]
        self.errors: list[BaseException] = []

    def run(self) -> None:
        """Run the function; keep what leaves it."""
        try:
            self._function()
        except BaseException as error:
            self.errors.append(error)
        for _ in range(2):
            try:
                until_left.stop(threading.get_ident())
                async_exception.clear()
            except Raised:
                continue

    @staticmethod
    def is_due(frame) -> bool:
        """Whether the function or what it calls runs."""
        while frame is not None and frame.f_code.co_filename != FILE:
            frame = frame.f_back
        return frame is not None


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_an_exception_of_another_thread_leaves_a_loop(loop):
    """A few attempts are enough."""
    swallowing = Swallowing(loop)
    thread = threading.Thread(target=swallowing.run, daemon=True)
    thread.start()
    assert until(lambda: swallowing.turns[0] > 0)
    assert thread.ident is not None
    attempts = 0

    def has_ended() -> bool:
        nonlocal attempts
        attempts += 1
        frame = sys._current_frames().get(thread.ident)
        if swallowing.is_due(frame):
            kind = until_left.prepare(Raised, thread.ident, frame, swallowing.is_due)
            if kind is not None:
                async_exception.raise_in(thread.ident, kind)
        return not thread.is_alive()

    assert until(has_ended)
    (error,) = swallowing.errors
    assert isinstance(error, Raised)
    assert attempts < 50


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_an_exception_of_a_signal_handler_leaves_a_loop(loop):
    """A signal comes again until the loop has been left."""
    swallowing = Swallowing(loop)

    def handle(number, frame) -> None:
        if swallowing.is_due(frame):
            until_left.raise_here(Raised, frame, swallowing.is_due)

    signals = (signal.SIGALRM, signal.SIGINT)
    before = [signal.signal(each, handle) for each in signals]
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    try:
        swallowing.run()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for each, handler in zip(signals, before, strict=True):
            signal.signal(each, handler)

    (error,) = swallowing.errors
    assert isinstance(error, Raised)


def test_what_was_stopped_is_not_raised():
    """The same function runs again to its end."""
    names: dict = {"sys": sys}
    source = "def run():\n    frame[0] = sys._getframe()\n    yield 1\n    yield 2\n"
    names["frame"] = [None]
    exec(compile(source, FILE, "exec"), names)
    steps = names["run"]()
    assert 1 == next(steps)
    here = threading.get_ident()
    until_left.prepare(Raised, here, names["frame"][0], Swallowing.is_due)

    until_left.stop(here)

    assert 2 == next(steps)


@pytest.mark.parametrize(
    ("is_due", "is_within", "expected"),
    [(True, True, True), (True, False, False), (False, True, False)],
)
def test_only_due_frames_within_the_one_to_leave_raise(is_due, is_within, expected):
    """Code that must not be interrupted runs on, as does the caller's."""
    here = sys._getframe()
    frames = [here] if is_within else []
    repeated = until_left._Repeated(Raised, frames, lambda frame: is_due)

    assert expected is repeated.may_raise(here)


def test_another_call_of_the_same_function_is_left_alone():
    """The exception belongs to the frame that was interrupted."""
    names: dict = {"sys": sys, "frame": [None]}
    source = "def run():\n    frame[0] = sys._getframe()\n    return 1\n"
    exec(compile(source, FILE, "exec"), names)
    names["run"]()
    here = threading.get_ident()
    until_left.prepare(Raised, here, names["frame"][0], Swallowing.is_due)
    try:
        assert 1 == names["run"]()
    finally:
        until_left.stop(here)
