"""The clock of the engine, which stands still while a debugger holds the process."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import NamedTuple, Protocol

_MAX_PAUSES = 10_000
"""Maximum number of pauses that are remembered."""
_RECHECK_S = 0.05
"""Shortest wait during a pause, before the time is read again."""


class Waiting(Protocol):
    """A wait that something else can end."""

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait; return False after the timeout."""


class Pause(NamedTuple):
    """A period in which a debugger stopped the process."""

    start_ns: int
    """Time of the clock, which then stood still."""
    duration_ns: int
    """Real duration."""


class PausingClock:
    """Monotonic time less the time spent in pauses, in nanoseconds.

    Every time in a trace, deadline, queue timeout and hang notice is measured on it.
    """

    def __init__(self) -> None:
        self.now_ns = time.monotonic_ns
        """Returns the time. Until the first pause it is Python's own function, so that
        a process without a debugger pays nothing."""
        self._lock = threading.Lock()
        self._depth = 0
        self._state = (0, 0)
        """Real time at which the present pause began, or 0; duration of earlier ones.
        One value, as threads read it without the lock."""
        self._pauses: deque[Pause] = deque(maxlen=_MAX_PAUSES)

    def pause(self) -> None:
        """Stop the clock; pauses nest."""
        with self._lock:
            self._depth += 1
            if self._depth == 1:
                self._state = time.monotonic_ns(), self._state[1]
                self.now_ns = self._now_ns

    def resume(self) -> None:
        """Undo one `pause`; after the last one the clock runs again."""
        with self._lock:
            self._depth -= 1
            if not self._depth:
                since_ns, paused_ns = self._state
                duration_ns = time.monotonic_ns() - since_ns
                self._pauses.append(Pause(since_ns - paused_ns, duration_ns))
                self._state = 0, paused_ns + duration_ns

    def _now_ns(self) -> int:
        since_ns, paused_ns = self._state
        return (since_ns or time.monotonic_ns()) - paused_ns

    def pauses(self, start_ns: int, end_ns: int) -> tuple[Pause, ...]:
        """Return the pauses that began between two times of this clock."""
        found = [p for p in list(self._pauses) if start_ns <= p.start_ns <= end_ns]
        return tuple(found)

    def paused_before_ns(self, at_ns: int) -> int:
        """Return the duration of all pauses before a time of this clock."""
        return sum(p.duration_ns for p in list(self._pauses) if p.start_ns < at_ns)

    def real_s(self, left_ns: int) -> float:
        """Return the real seconds to wait before time is read again."""
        return max(left_ns / 1e9, _RECHECK_S if self._state[0] else 0.0)

    def wait(self, waiting: Waiting, timeout_s: float | None) -> bool:
        """Wait as `waiting` does, with a timeout on this clock."""
        __tracebackhide__ = True
        if timeout_s is None:
            return waiting.wait(None)
        end_ns, left_s = self.now_ns() + round(timeout_s * 1e9), timeout_s
        while not waiting.wait(left_s):
            left_ns = end_ns - self.now_ns()
            if left_ns <= 0:
                return False
            left_s = self.real_s(left_ns)
        return True


CLOCK = PausingClock()
"""The clock of this process: a debugger stops all servers at once."""
