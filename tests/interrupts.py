"""Interrupt: Ctrl-C while a model is at work."""

from __future__ import annotations

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
_ROOMS = tuple(
    str(Path(blsnb.__file__).with_name(room)) for room in ("engine", "loading")
)


class Lived:
    """Time in which this process was able to run.

    A busy machine lets all of it stand still for seconds, which says nothing of what
    is measured.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._over = threading.Event()

    def count(self) -> None:
        """Count, on a thread that does nothing else, until it is over."""
        while not self._over.wait(_TICK_S):
            self.seconds += _TICK_S

    def end(self) -> None:
        """End the time."""
        self._over.set()

    @property
    def is_over(self) -> bool:
        """Whether it was ended."""
        return self._over.is_set()


class Interrupt:
    """Ctrl-C once a model is at work, and the time until the prompt is back."""

    def __init__(self) -> None:
        self._until_back = Lived()
        self._threads: list[threading.Thread] = []

    def press(
        self,
        event: str = "asleep",
        delay_s: float = 0.05,
        when: Callable[[], bool] = lambda: True,
    ) -> None:
        """Interrupt the main thread shortly after a model has set an event.

        Parameters
        ----------
        when
            What must hold besides; that the main thread is at work for a request, or
            a load, is waited for in any case. Else the test itself might be hit.
        """
        self._until_back = lived = Lived()
        asleep = stage.events[event]

        def wait() -> None:
            until(lambda: lived.is_over or (asleep.is_set() and _at_work() and when()))
            time.sleep(delay_s)
            if lived.is_over:
                return
            os.kill(os.getpid(), signal.SIGINT)
            stage.events["pressed"].set()
            lived.count()

        self._threads.append(threading.Thread(target=wait))
        self._threads[-1].start()

    def expect(
        self,
        call: Callable[[], object],
        event: str = "asleep",
        when: Callable[[], bool] = lambda: True,
    ) -> None:
        """Press during a call, which must end with KeyboardInterrupt, and soon."""
        self.press(event, when=when)
        with pytest.raises(KeyboardInterrupt):
            call()
        self._until_back.end()
        assert self._until_back.seconds < 1

    def join(self) -> None:
        """Wait for what was pressed."""
        self._until_back.end()
        for thread in self._threads:
            thread.join()


def _at_work() -> bool:
    """Whether the main thread is in the engine, or in a model below it."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None:
        if frame.f_code.co_filename.startswith(_ROOMS):
            return True
        frame = frame.f_back
    return False
