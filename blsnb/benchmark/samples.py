"""Aggregate the requests of one level of load to a row of the table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from blsnb.benchmark.level import Sample, Sending

_PHASES = ("queue", "compute_input", "compute_infer", "compute_output")
_PERCENTILES = (50, 90, 95, 99)
_BLOCKS = 10
_STUDENT = 2.262
"""Quantile 0.975 of Student's distribution for ten blocks."""
_MIN_BLOCK = 5
"""Minimum number of requests of a block."""
_MIN_GROWTH, _MAX_GROWTH = 10, 0.05
"""Number of requests, and share of those sent, that may pile up by chance."""
_MIN_SENT = 0.98


class Counts(NamedTuple):
    """Counters of a model in its server.

    Parameters
    ----------
    phases
        Number of measurements of each phase, and their sum in nanoseconds.
    sizes
        Number of executions by batch size.
    """

    phases: Mapping[str, tuple[int, int]]
    sizes: Mapping[int, int]

    @classmethod
    def of(cls, row: Mapping[str, Any], sizes: Mapping[int, int]) -> Counts:
        """Read a row of Triton's statistics."""
        durations = row["inference_stats"]
        phases = {
            name: (int(durations[name]["count"]), int(durations[name]["ns"]))
            for name in _PHASES
        }
        return cls(phases, dict(sizes))

    def since(self, before: Counts) -> Counts:
        """Return the increments since then; all counts if the model was reloaded."""
        pairs = zip(self.phases.values(), before.phases.values(), strict=True)
        if any(now[0] < then[0] for now, then in pairs):
            return self
        phases = {
            name: (count - before.phases[name][0], ns - before.phases[name][1])
            for name, (count, ns) in self.phases.items()
        }
        sizes = Counter(self.sizes)
        sizes.subtract(before.sizes)
        return Counts(phases, {size: n for size, n in sorted(sizes.items()) if n > 0})

    def mean_us(self, phase: str) -> float:
        """Return the mean duration of a phase; NaN without a measurement."""
        count, ns = self.phases[phase]
        return ns / count / 1e3 if count else math.nan


NOTHING = Counts({phase: (0, 0) for phase in _PHASES}, {})
"""Counters of a model that is not ready."""


class LoadRow(NamedTuple):
    """One level of load. Times are in microseconds; missing ones are NaN.

    Parameters
    ----------
    concurrency
        Number of clients; in an open loop the maximum number of requests in flight.
    duration_s
        Seconds from the first request to the last response.
    requests, failed
        Number of successful and of failed requests.
    throughput
        Successful requests per second; of an open loop with those of its warm-up.
    mean_us, p50_us, p90_us, p95_us, p99_us
        Latency to the last response, as the client sees it.
    first_p50_us, first_p99_us
        Latency to the first response of a stream.
    responses
        Number of responses of all streams.
    queue_us, compute_input_us, compute_infer_us, compute_output_us
        Means of the server's statistics.
    batch_sizes
        Number of executions by batch size.
    errors
        Number of failures by text.
    unfinished
        Number of requests that were abandoned at the end of the level.
    rate, sent_rate
        Wanted and achieved requests per second of an open loop; else NaN.
    growth
        Number of requests in flight at the end of an open loop beyond those after its
        warm-up.
    unsent
        Number of requests that were not sent, since too many were in flight.
    p50_error_us, p99_error_us
        Half of the 95 % confidence interval of an open loop's latencies; NaN with too
        few requests.
    """

    concurrency: int
    duration_s: float
    requests: int
    failed: int
    throughput: float
    mean_us: float
    p50_us: float
    p90_us: float
    p95_us: float
    p99_us: float
    first_p50_us: float
    first_p99_us: float
    responses: int
    queue_us: float
    compute_input_us: float
    compute_infer_us: float
    compute_output_us: float
    batch_sizes: dict[int, int]
    errors: dict[str, int]
    unfinished: int = 0
    rate: float = math.nan
    sent_rate: float = math.nan
    growth: int = 0
    unsent: int = 0
    p50_error_us: float = math.nan
    p99_error_us: float = math.nan

    @property
    def is_held(self) -> bool:
        """Whether the server kept up with the rate of an open loop.

        It did not if requests piled up, or were sent too late to reach the rate.
        """
        sent = self.rate * self.duration_s
        piled_up = self.growth > max(_MIN_GROWTH, _MAX_GROWTH * sent)
        late = self.sent_rate < _MIN_SENT * self.rate
        return not (piled_up or late or self.unsent)

    @property
    def compute_us(self) -> float:
        """Sum of input, execution and output."""
        return self.compute_input_us + self.compute_infer_us + self.compute_output_us

    @property
    def batch_size(self) -> float:
        """Mean batch size of all executions."""
        executions = sum(self.batch_sizes.values())
        inferences = sum(size * count for size, count in self.batch_sizes.items())
        return inferences / executions if executions else math.nan


def failures(rows: Sequence[LoadRow]) -> list[str]:
    """Return the error texts of failed requests with their counts."""
    total: Counter[str] = Counter()
    for row in rows:
        total.update(row.errors)
    return [f"{count:,} failed: {text}" for text, count in total.most_common()]


def row_of(
    concurrency: int,
    samples: Sequence[Sample],
    counted: Counts,
    *,
    stream: bool,
    unfinished: int = 0,
) -> LoadRow:
    """Return the row of one level.

    Parameters
    ----------
    counted
        The server's counters of the level.
    stream
        Whether requests have any number of responses.
    """
    answered = [sample for sample in samples if not sample.error]
    seconds = _seconds(samples)
    whole = _times_us([s.ended_ns - s.began_ns for s in answered])
    first = _times_us([s.first_ns - s.began_ns for s in answered if stream])
    p50, p90, p95, p99 = _percentiles(whole)
    first_p50, _, _, first_p99 = _percentiles(first)
    errors = Counter(sample.error for sample in samples if sample.error)
    return LoadRow(
        concurrency=concurrency,
        duration_s=seconds,
        requests=len(answered),
        failed=len(samples) - len(answered),
        throughput=len(answered) / seconds if seconds else 0.0,
        mean_us=float(whole.mean()) if len(whole) else math.nan,
        p50_us=p50,
        p90_us=p90,
        p95_us=p95,
        p99_us=p99,
        first_p50_us=first_p50,
        first_p99_us=first_p99,
        responses=sum(sample.responses for sample in answered),
        queue_us=counted.mean_us("queue"),
        compute_input_us=counted.mean_us("compute_input"),
        compute_infer_us=counted.mean_us("compute_infer"),
        compute_output_us=counted.mean_us("compute_output"),
        batch_sizes=dict(counted.sizes),
        errors=dict(errors.most_common()),
        unfinished=unfinished,
    )


def open_row_of(
    rate: float,
    samples: Sequence[Sample],
    counted: Counts,
    sending: Sending,
    *,
    stream: bool,
    unfinished: int = 0,
) -> LoadRow:
    """Return the row of one level of an open loop, without the warm-up's requests."""
    measured = sorted(each for each in samples if each.began_ns >= sending.warm_ns)
    row = row_of(sending.peak, measured, counted, stream=stream, unfinished=unfinished)
    answered = [each for each in measured if not each.error]
    whole = _times_us([each.ended_ns - each.began_ns for each in answered])
    # A schedule ends after its last request, or with a response that is later.
    seconds = max(sending.window_s, _seconds(samples))
    succeeded = sum(not each.error for each in samples)
    return row._replace(
        throughput=succeeded / seconds if seconds else 0.0,
        rate=float(rate),
        sent_rate=sending.sent / sending.window_s if sending.window_s else 0.0,
        growth=sending.growth,
        unsent=sending.unsent,
        p50_error_us=_error_us(whole, 50),
        p99_error_us=_error_us(whole, 99),
    )


def _error_us(times: np.ndarray[Any, np.dtype[np.float64]], percentile: int) -> float:
    """Return half of a percentile's 95 % confidence interval.

    Latencies of neighbours depend on each other, those of blocks hardly do.
    """
    if len(times) < _BLOCKS * _MIN_BLOCK:
        return math.nan
    found = [np.percentile(each, percentile) for each in np.array_split(times, _BLOCKS)]
    return float(_STUDENT * np.std(found, ddof=1) / math.sqrt(_BLOCKS))


def _seconds(samples: Sequence[Sample]) -> float:
    if not samples:
        return 0.0
    first = min(sample.began_ns for sample in samples)
    return (max(sample.ended_ns for sample in samples) - first) / 1e9


def _times_us(times_ns: Sequence[int]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array(times_ns, np.float64) / 1e3


def _percentiles(
    times: np.ndarray[Any, np.dtype[np.float64]],
) -> tuple[float, float, float, float]:
    if not len(times):
        return (math.nan,) * 4
    p50, p90, p95, p99 = np.percentile(times, _PERCENTILES).tolist()
    return p50, p90, p95, p99
