"""Interrupt: Ctrl-C while a model is at work."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

import pytest
import stage


class Interrupt:
    """Ctrl-C once a model is at work, and the time until the prompt is back."""

    def __init__(self) -> None:
        self.pressed_s = 0.0
        self._threads: list[threading.Thread] = []

    def press(self, event: str = "asleep", delay_s: float = 0.05) -> None:
        """Interrupt the main thread shortly after a model has set an event."""

        def wait() -> None:
            stage.events[event].wait(10)
            time.sleep(delay_s)
            self.pressed_s = time.monotonic()
            os.kill(os.getpid(), signal.SIGINT)

        self._threads.append(threading.Thread(target=wait))
        self._threads[-1].start()

    def expect(self, call: Callable[[], object], event: str = "asleep") -> None:
        """Press during a call, which must end with KeyboardInterrupt, and soon."""
        self.press(event)
        with pytest.raises(KeyboardInterrupt):
            call()
        assert time.monotonic() - self.pressed_s < 1

    def join(self) -> None:
        """Wait for what was pressed."""
        for thread in self._threads:
            thread.join()
