"""FlushClock: decides when a live view is told of what happened."""

from __future__ import annotations

_TENTH_NS = 100_000_000
_QUARTER_NS = 250_000_000
_MANY_ROWS = 2000
# A model waits while its run is told of: at most one part in so many of its time.
_SHARE = 10
# A page that came late can ask for a snapshot only when the cell has ended, so
# small traces are sent whole, large ones whenever they have doubled.
_FEW_ROWS = 500


class FlushClock:
    """Told the time and asked whether to send; has no clock, timer or thread.

    Ten times a second up to 2000 rows, four times beyond; less where telling takes
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
        return now_ns - self._last_ns >= max(pause, _SHARE * self._took_ns)

    def whole(self, rows: int) -> bool:
        """Whether a trace of so many rows is to be sent whole, not in part."""
        return rows <= _FEW_ROWS or rows >= 2 * self._whole

    def flushed(self, now_ns: int, rows: int, whole: bool, took_ns: int = 0) -> None:
        """Note that a trace of so many rows was sent, and how long that took."""
        self._last_ns = now_ns
        self._rows = rows
        self._took_ns = took_ns
        if whole:
            self._whole = rows
