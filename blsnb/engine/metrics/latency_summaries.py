"""Quantiles of the latencies of a model's latest requests."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from blsnb.clock.pausing_clock import CLOCK

MAX_AGE_NS = 60_000_000_000
"""Period of quantiles: the last minute, as on Triton; counts and sums are of all."""
MAX_DURATIONS = 4096
"""Maximum number of durations that are kept for quantiles."""


class SummaryReading(NamedTuple):
    """A summary of the metrics page."""

    counted: int
    sum_us: int
    quantiles: dict[float, float]
    """Microseconds by quantile; NaN without recent durations."""


class Summary:
    """Durations of one kind.

    References
    ----------
    prometheus-cpp: core/src/detail/ckms_quantiles.cc, CKMSQuantiles::get
    """

    __slots__ = ("_count", "_latest", "_sum_us")

    def __init__(self) -> None:
        self._count = self._sum_us = 0
        self._latest: deque[tuple[int, int]] = deque(maxlen=MAX_DURATIONS)

    def add(self, end_ns: int, duration_ns: int) -> None:
        """Add a duration with its end."""
        duration_us = duration_ns // 1000
        self._count += 1
        self._sum_us += duration_us
        self._latest.append((end_ns, duration_us))

    def read(self, quantiles: tuple[float, ...], now_ns: int) -> SummaryReading:
        """Return the present summary."""
        known = sorted(
            us for end_ns, us in self._latest.copy() if now_ns - end_ns < MAX_AGE_NS
        )
        found = {each: _quantile(known, each) for each in quantiles}
        return SummaryReading(self._count, self._sum_us, found)


def _quantile(known: list[int], quantile: float) -> float:
    """Return a quantile; for few values the next smaller one, as on Triton."""
    if not known:
        return float("nan")
    return known[max(int(quantile * len(known)), 1) - 1]


class LatencySummaries:
    """The summaries of one model version."""

    def __init__(self) -> None:
        self.request = Summary()
        self.queue = Summary()
        self.compute_input = Summary()
        self.compute_infer = Summary()
        self.compute_output = Summary()
        self.cache_hit = Summary()
        self.cache_miss = Summary()

    def add(
        self, end_ns: int, request_ns: int, queue_ns: int, phases: tuple[int, int, int]
    ) -> None:
        """Add an executed request; ``phases`` are input, execution and output."""
        self.request.add(end_ns, request_ns)
        self.queue.add(end_ns, queue_ns)
        input_ns, infer_ns, output_ns = phases
        self.compute_input.add(end_ns, input_ns)
        self.compute_infer.add(end_ns, infer_ns)
        self.compute_output.add(end_ns, output_ns)

    def hit(self, end_ns: int, request_ns: int, look_up_ns: int) -> None:
        """Add a request that the response cache answered."""
        self.request.add(end_ns, request_ns)
        self.queue.add(end_ns, 0)
        self.cache_hit.add(end_ns, look_up_ns)

    def miss(self, ns: int) -> None:
        """Add a miss of the response cache."""
        self.cache_miss.add(CLOCK.now_ns(), ns)
