"""When Ctrl-C is raised again in a model that continues."""

from __future__ import annotations

GRACE_NS = 300_000_000
"""Time in nanoseconds that a model has to end after the first interrupt."""
PAUSE_NS = 20_000_000
"""Time in nanoseconds from one further interrupt to the next."""


class Repetition:
    """Decides when an interrupt is raised again.

    Parameters
    ----------
    start_ns
        Monotonic time of the first interrupt.
    """

    def __init__(self, start_ns: int) -> None:
        self._due_ns = start_ns + GRACE_NS

    def is_due(self, now_ns: int) -> bool:
        """Whether to raise the interrupt now; the next one is due after a pause."""
        if now_ns < self._due_ns:
            return False
        self._due_ns = now_ns + PAUSE_NS
        return True

    def pause_s(self, now_ns: int) -> float:
        """Return the seconds until the next interrupt is due."""
        return max(0, self._due_ns - now_ns) / 1e9
