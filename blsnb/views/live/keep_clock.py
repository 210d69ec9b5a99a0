"""KeepClock: decides when a notebook is given what it keeps of a live view."""

from __future__ import annotations

_SECOND_NS = 1_000_000_000
_MOST_NS = 60 * _SECOND_NS
# What is given takes the place of what was: at most one part in so many of the time.
_SHARE = 20
_NOTHING = object()


class KeepClock:
    """Told the time and what is shown; has no clock, timer or thread.

    A notebook that is saved holds what was shown last, not what is in a page. What is
    new is kept at once, what goes on changing after a second, after two more, after
    four, at last once a minute; where little changed meanwhile that begins again.
    """

    def __init__(self) -> None:
        self._kept: object = _NOTHING
        self._pause_ns = _SECOND_NS
        self._next_ns: int | None = None

    def due(self, now_ns: int, shown: object) -> bool:
        """Whether it is time to keep what is shown, which is told by its value."""
        if shown == self._kept:
            return False
        return self._next_ns is None or now_ns >= self._next_ns

    def kept(self, now_ns: int, shown: object, took_ns: int = 0) -> None:
        """Note that this was kept, and how long that took."""
        due_ns = now_ns if self._next_ns is None else self._next_ns
        calm = self._next_ns is None or now_ns - due_ns >= self._pause_ns
        self._pause_ns = _SECOND_NS if calm else min(2 * self._pause_ns, _MOST_NS)
        self._kept = shown
        self._next_ns = now_ns + max(self._pause_ns, _SHARE * took_ns)
