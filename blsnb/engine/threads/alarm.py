"""Calls of functions at given times, all on one thread."""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
from collections.abc import Callable

from blsnb.clock.pausing_clock import CLOCK
from blsnb.engine.threads.start import start

_log = logging.getLogger("blsnb.engine")
_JOIN_S = 1.0


class Alarm:
    """Timer of a server; its thread starts with the first scheduler that needs it.

    The functions must be short: the next one waits for them.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None
        self._closed = False

    def start(self) -> None:
        """Start the thread, or raise OutOfResourcesError; safe to repeat."""
        with self._changed:
            self._start()

    def _start(self) -> None:
        if self._closed or self._thread is not None:
            return
        thread = threading.Thread(target=self._run, name="blsnb alarm", daemon=True)
        start(thread)
        self._thread = thread

    def call_at(self, at_ns: int, call: Callable[[], None]) -> None:
        """Call a function at a time of the monotonic clock, in nanoseconds."""
        with self._changed:
            if self._closed:
                return
            self._start()
            heapq.heappush(self._due, (at_ns, next(self._numbers), call))
            self._changed.notify()

    def _run(self) -> None:
        while (call := self._next()) is not None:
            try:
                call()
            except Exception:
                _log.exception("an alarm failed")

    def _next(self) -> Callable[[], None] | None:
        """Wait for the next function to call; return None when closed."""
        with self._changed:
            while not self._closed:
                if not self._due:
                    self._changed.wait()
                    continue
                wait_ns = self._due[0][0] - CLOCK.now_ns()
                if wait_ns <= 0:
                    return heapq.heappop(self._due)[2]
                self._changed.wait(CLOCK.real_s(wait_ns))
        return None

    def close(self) -> None:
        """Drop all functions, and end the thread."""
        with self._changed:
            self._closed = True
            self._due.clear()
            self._changed.notify()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_JOIN_S)
