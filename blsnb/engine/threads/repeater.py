"""Repeater: sends Ctrl-C again to the main thread until its request has ended."""

from __future__ import annotations

import _thread
import signal
import threading
import time

from blsnb.engine.threads.repetition import Repetition
from blsnb.engine.threads.waiter import Waiter

_JOIN_S = 1.0


class Repeater:
    """Sends SIGINT again to the main thread; owned by the request that Ctrl-C ended.

    A signal ends blocking calls, and its handler sees which frame is innermost.
    """

    def __init__(self) -> None:
        self._end = Waiter()
        self._ended: Waiter | None = None
        self._is_closed = False
        self.is_sent = False
        """Whether the next signal that is handled is not the user's."""

    def start(self) -> None:
        """Start the thread, once; safe in a signal handler."""
        if self._ended is None and not self._is_closed:
            self._ended, began = Waiter(), Waiter()
            try:
                # Not `threading.Thread`: the interrupted code may hold its locks.
                _thread.start_new_thread(self._run, (self._ended, began))
                # Before it runs, Python takes it for the thread that starts it: an
                # exception raised in that one would be raised in the new one.
                began.wait(_JOIN_S)
            except RuntimeError:
                # No thread is left: the user may press Ctrl-C again.
                self._ended.wake()

    def _run(self, ended: Waiter, began: Waiter) -> None:
        began.wake()
        try:
            repetition = Repetition(time.monotonic_ns())
            while not self._end.wait(repetition.pause_s(time.monotonic_ns())):
                if repetition.is_due(time.monotonic_ns()):
                    self.is_sent = True
                    ident = threading.main_thread().ident
                    assert ident is not None
                    signal.pthread_kill(ident, signal.SIGINT)
        finally:
            ended.wake()

    def take_sent(self) -> bool:
        """Whether this thread sent the signal that is being handled."""
        is_sent, self.is_sent = self.is_sent, False
        return is_sent

    def close(self) -> None:
        """End the thread, and let its last signal arrive; safe to repeat."""
        self._is_closed = True
        self._end.wake()
        if self._ended is not None:
            self._ended.wait(_JOIN_S)
            # Handles signals that have arrived.
            signal.pthread_sigmask(signal.SIG_BLOCK, ())
