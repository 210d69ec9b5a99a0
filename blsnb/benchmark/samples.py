"""From the requests of one level of load to a row of the table: pure functions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

_PHASES = ("queue", "compute_input", "compute_infer", "compute_output")
_PERCENTILES = (50, 90, 95, 99)


class Sample(NamedTuple):
    """One request as its client saw it.

    Parameters
    ----------
    began_ns, first_ns, ended_ns
        When it was asked, when its first response came, and its last.
    responses
        How many came.
    error
        Why it failed; empty if it did not.
    """

    began_ns: int
    first_ns: int
    ended_ns: int
    responses: int = 1
    error: str = ""


class Counts(NamedTuple):
    """What a server has counted of a model, as far as a bench needs it.

    Parameters
    ----------
    phases
        Of each phase how often it was measured, and its nanoseconds in all.
    sizes
        How many executions had each batch size.
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
        """Return what was counted since then; all, if the model was loaded anew."""
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
        """Return how long a phase took; NaN if it never was."""
        count, ns = self.phases[phase]
        return ns / count / 1e3 if count else math.nan


NOTHING = Counts({phase: (0, 0) for phase in _PHASES}, {})
"""Of a model that does not serve."""


class Row(NamedTuple):
    """One level of load. Times are microseconds; what there is not is NaN.

    Parameters
    ----------
    concurrency
        How many clients asked, each anew as soon as it was answered.
    duration_s
        From the first question to the last answer.
    requests, failed
        How many were answered well, and how many with an error.
    throughput
        Requests answered well, per second.
    mean_us, p50_us, p90_us, p95_us, p99_us
        From a question to its last answer, as the client sees it.
    first_p50_us, first_p99_us
        To the first response of a stream.
    responses
        Of streams, all together.
    queue_us, compute_input_us, compute_infer_us, compute_output_us
        Means of the server's own statistics.
    batch_sizes
        How many executions had each batch size.
    errors
        How often each error came, by its text.
    unfinished
        How many were not answered in time, and left to themselves.
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

    @property
    def compute_us(self) -> float:
        """Input, execution and output together."""
        return self.compute_input_us + self.compute_infer_us + self.compute_output_us

    @property
    def batch_size(self) -> float:
        """The mean of all executions."""
        executions = sum(self.batch_sizes.values())
        inferences = sum(size * count for size, count in self.batch_sizes.items())
        return inferences / executions if executions else math.nan


def row_of(
    concurrency: int,
    samples: Sequence[Sample],
    counted: Counts,
    *,
    stream: bool,
    unfinished: int = 0,
) -> Row:
    """Return the row of one level.

    Parameters
    ----------
    counted
        What the server counted meanwhile.
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
    return Row(
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
