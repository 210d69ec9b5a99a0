"""Sampler: decides which requests a Collector receives."""

from __future__ import annotations

import threading


class Sampler:
    """Takes one request of ``rate``, at most ``count``. Thread-safe.

    A request with a valid ``traceparent`` is taken whatever the rate, and beyond the
    maximum.

    Parameters
    ----------
    rate
        One in this many requests is taken.
    count
        Maximum number of requests; -1 for no limit, 0 to take none.

    Raises
    ------
    ValueError
        A number is invalid.

    References
    ----------
    server: src/tracer.cc, TraceSetting::SampleTrace
    """

    def __init__(self, rate: int = 1, count: int = -1) -> None:
        self._lock = threading.Lock()
        self.change(rate, count)

    def change(self, rate: int, count: int) -> None:
        """Set both values, and begin to count anew."""
        if rate < 1:
            raise ValueError(f"otlp_rate={rate!r} is not valid; expected 1 or more")
        if count < -1:
            raise ValueError(
                f"otlp_count={count!r} is not valid; expected -1 for no limit, or the "
                "maximum number of requests"
            )
        with self._lock:
            self._rate, self._left, self._seen = rate, count, 0
            self._is_on = count != 0

    def takes(self, has_context: bool = False) -> bool:
        """Return whether the next request is taken."""
        with self._lock:
            self._seen += 1
            if has_context:
                return self._is_on
            if not self._left or self._seen % self._rate:
                return False
            self._left -= self._left > 0
            return True
