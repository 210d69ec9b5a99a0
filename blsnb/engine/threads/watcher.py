"""A thread that calls a function periodically until it is closed."""

from __future__ import annotations

import threading
from collections.abc import Callable

from blsnb.engine.threads.start import start


class Watcher:
    """Calls a function periodically on a thread of its own.

    Parameters
    ----------
    look
        The function; it must not raise.
    pause_s
        Seconds between the end of a call and the next one.
    name
        Name of the thread.
    """

    def __init__(self, look: Callable[[], None], pause_s: float, name: str) -> None:
        self.name = name
        self._look = look
        self._pause_s = pause_s
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread, or raise OutOfResourcesError; it pauses first."""
        start(self._thread)

    def _run(self) -> None:
        while not self._end.wait(self._pause_s):
            self._look()

    def close(self, timeout_s: float) -> None:
        """End the calls, and wait for a running one."""
        self._end.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout_s)
