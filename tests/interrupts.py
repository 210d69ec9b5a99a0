"""Ctrl-C while a model is running."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import stage
from waiting import until

import blsnb

_TICK_S = 0.01
_ENGINE = str(Path(blsnb.__file__).with_name("engine"))


class RunningTime:
    """Time in which this process was able to run.

    A busy machine may suspend the process for seconds, which do not count.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._over = threading.Event()

    def count(self) -> None:
        """Count, on a thread of its own, until the end."""
        while not self._over.wait(_TICK_S):
            self.seconds += _TICK_S

    def end(self) -> None:
        """End the time."""
        self._over.set()

    @property
    def is_over(self) -> bool:
        """Whether the time has ended."""
        return self._over.is_set()


class Interrupt:
    """Presses Ctrl-C once a model is running; measures the time until the prompt."""

    def __init__(self) -> None:
        self._until_prompt = RunningTime()
        self._threads: list[threading.Thread] = []

    def press(
        self,
        event: str = "asleep",
        delay_s: float = 0.05,
        when: Callable[[], bool] = lambda: True,
    ) -> None:
        """Interrupt the main thread shortly after a model has set an event.

        The main thread must be in the engine, so that the test is not interrupted.

        Parameters
        ----------
        when
            A further condition to wait for.
        """
        self._until_prompt = running = RunningTime()
        asleep = stage.events[event]

        def wait() -> None:
            until(
                lambda: running.is_over or (asleep.is_set() and _in_engine() and when())
            )
            time.sleep(delay_s)
            if running.is_over:
                return
            os.kill(os.getpid(), signal.SIGINT)
            stage.events["pressed"].set()
            running.count()

        self._threads.append(threading.Thread(target=wait))
        self._threads[-1].start()

    def expect(
        self,
        call: Callable[[], object],
        event: str = "asleep",
        when: Callable[[], bool] = lambda: True,
    ) -> None:
        """Interrupt a call; it must raise KeyboardInterrupt within a second."""
        self.press(event, when=when)
        with pytest.raises(KeyboardInterrupt):
            call()
        self._until_prompt.end()
        assert self._until_prompt.seconds < 1

    def join(self) -> None:
        """End the measurements and their threads."""
        self._until_prompt.end()
        for thread in self._threads:
            thread.join()


def _in_engine() -> bool:
    """Whether the main thread is running the engine, or a model called by it."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None:
        if frame.f_code.co_filename.startswith(_ENGINE):
            return True
        frame = frame.f_back
    return False


def traced_events(before: Callable[[], object] = lambda: None) -> list[str]:
    """Return the events of a traced function; end the process if it hangs.

    Parameters
    ----------
    before
        Called first, traced as well.
    """
    events = []

    def trace(frame, event, argument):
        events.append(event)
        return trace

    usual = sys.gettrace()
    faulthandler.dump_traceback_later(20, exit=True)
    sys.settrace(trace)
    try:
        before()
        len(str(events.copy()))
        (lambda: None)()
    finally:
        sys.settrace(usual)
        faulthandler.cancel_dump_traceback_later()
    return events
