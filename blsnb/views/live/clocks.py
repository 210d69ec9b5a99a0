"""Decide when a live view sends updates and when a notebook stores them. Pure."""

from __future__ import annotations

_SECOND_NS = 1_000_000_000
_TENTH_NS = 100_000_000
_QUARTER_NS = 250_000_000
_MAX_PAUSE_NS = 60 * _SECOND_NS
_MANY_ROWS = 2000
_FEW_ROWS = 500
_SEND_RATIO = 10
"""Minimum ratio of the pause between two messages to the time that sending took."""
_KEEP_RATIO = 20
"""The same ratio for outputs that a notebook stores."""
_NOTHING = object()


class FlushClock:
    """Decides when a live view sends new events; the caller passes the time.

    Ten times a second up to 2000 rows, else four times; less often if sending takes
    more than a tenth of the time.
    """

    def __init__(self) -> None:
        self._last_ns: int | None = None
        self._rows = 0
        self._whole = 0
        self._took_ns = 0

    def due(self, now_ns: int) -> bool:
        """Whether it is time to send again."""
        if self._last_ns is None:
            return True
        pause = _TENTH_NS if self._rows <= _MANY_ROWS else _QUARTER_NS
        return now_ns - self._last_ns >= max(pause, _SEND_RATIO * self._took_ns)

    def whole(self, rows: int) -> bool:
        """Whether to send all rows of a trace instead of the changed ones.

        A page that opens late receives a snapshot only after the cell has ended.
        Therefore small traces are sent whole, and large ones when they have doubled.
        """
        return rows <= _FEW_ROWS or rows >= 2 * self._whole

    def flushed(self, now_ns: int, rows: int, whole: bool, took_ns: int = 0) -> None:
        """Note that a trace was sent, with its number of rows and the time taken."""
        self._last_ns = now_ns
        self._rows = rows
        self._took_ns = took_ns
        if whole:
            self._whole = rows


class KeepClock:
    """Decides when a notebook receives the state of a live view, to store it.

    The first change is stored at once, further changes after one second, two more, four
    more, and finally once a minute. After a quiet period the sequence starts again.
    """

    def __init__(self) -> None:
        self._kept: object = _NOTHING
        self._pause_ns = _SECOND_NS
        self._next_ns: int | None = None

    def due(self, now_ns: int, shown: object) -> bool:
        """Whether to store the shown state, which can be compared with ``==``."""
        if shown == self._kept:
            return False
        return self._next_ns is None or now_ns >= self._next_ns

    def kept(self, now_ns: int, shown: object, took_ns: int = 0) -> None:
        """Note that a state was stored, and the time taken."""
        due_ns = now_ns if self._next_ns is None else self._next_ns
        calm = self._next_ns is None or now_ns - due_ns >= self._pause_ns
        self._pause_ns = _SECOND_NS if calm else min(2 * self._pause_ns, _MAX_PAUSE_NS)
        self._kept = shown
        self._next_ns = now_ns + max(self._pause_ns, _KEEP_RATIO * took_ns)
