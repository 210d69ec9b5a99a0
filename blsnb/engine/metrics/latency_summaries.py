"""Quantiles of the latencies of a model's latest requests."""

from __future__ import annotations

from collections import deque

MAX_AGE_NS = 60_000_000_000
"""Period of quantiles: the last minute, as on Triton; counts and sums are of all."""
MAX_DURATIONS = 4096
"""Maximum number of durations that are kept for quantiles."""
_KINDS = (
    "request",
    "queue",
    "compute_input",
    "compute_infer",
    "compute_output",
    "cache_hit",
    "cache_miss",
)


class Summary:
    """Durations of one kind.

    References
    ----------
    prometheus-cpp: core/src/detail/ckms_quantiles.cc, CKMSQuantiles::get
    """

    __slots__ = ("_latest", "count", "sum_us")

    def __init__(self) -> None:
        self.count = self.sum_us = 0
        self._latest: deque[tuple[int, int]] = deque(maxlen=MAX_DURATIONS)

    def add(self, end_ns: int, duration_ns: int) -> None:
        """Add a duration with its end."""
        duration_us = duration_ns // 1000
        self.count += 1
        self.sum_us += duration_us
        self._latest.append((end_ns, duration_us))

    def quantiles(self, wanted: tuple[float, ...], now_ns: int) -> dict[float, float]:
        """Return microseconds by quantile; NaN without recent durations."""
        known = sorted(
            us for end_ns, us in self._latest.copy() if now_ns - end_ns < MAX_AGE_NS
        )
        return {each: _quantile(known, each) for each in wanted}


def _quantile(known: list[int], quantile: float) -> float:
    """Return a quantile; for few values the next smaller one, as on Triton."""
    if not known:
        return float("nan")
    return known[max(int(quantile * len(known)), 1) - 1]


class LatencySummaries:
    """The summaries of one model version."""

    def __init__(self) -> None:
        self.by_kind = {kind: Summary() for kind in _KINDS}

    def add(self, end_ns: int, **durations_ns: int) -> None:
        """Add the durations of a request, by kind."""
        for kind, duration_ns in durations_ns.items():
            self.by_kind[kind].add(end_ns, duration_ns)
