"""The server's own metrics: Triton's ``nv_*`` families."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from blsnb.clock.pausing_clock import CLOCK
from blsnb.engine.metrics.config import MetricsConfig
from blsnb.engine.metrics.registry import Fixed, MetricLine
from blsnb.engine.metrics.version_counts import VersionCounts

if TYPE_CHECKING:
    from blsnb.engine.metrics.latency_summaries import Summary

_Counted = tuple[VersionCounts, Counter[str]]
"""The counts of a version, and their present sums."""
_REASONS = ("OTHER", "BACKEND", "CANCELED", "REJECTED")


class _Counter(NamedTuple):
    """A family with one line for each version."""

    name: str
    description: str
    path: str = ""
    """Key of its sum, such as ``"success.ns"``."""


_CACHED = "(includes cached requests)"
_UNCACHED = "(does not include cached requests)"
_US = "duration in microseconds"
_SUCCESS = _Counter(
    "nv_inference_request_success",
    "Number of successful inference requests, all batch sizes",
    "success.count",
)
_FAILURE = _Counter(
    "nv_inference_request_failure",
    "Number of failed inference requests, all batch sizes",
    "fail.count",
)
_INFERENCES = f"Number of inferences performed {_UNCACHED}"
_EXECUTIONS = f"Number of model executions performed {_UNCACHED}"
_COUNTERS = (
    _Counter("nv_inference_count", _INFERENCES, "inference_count"),
    _Counter("nv_inference_exec_count", _EXECUTIONS, "execution_count"),
)
_DURATIONS = tuple(
    _Counter(
        f"nv_inference_{name}_duration_us",
        f"Cumulative {words} {_US} {cached}",
        f"{key}.ns",
    )
    for name, words, cached, key in (
        ("request", "inference request", _CACHED, "success"),
        ("queue", "inference queuing", _CACHED, "queue"),
        ("compute_input", "compute input", _UNCACHED, "compute_input"),
        ("compute_infer", "compute inference", _UNCACHED, "compute_infer"),
        ("compute_output", "inference compute output", _UNCACHED, "compute_output"),
    )
)
_CACHE = tuple(
    _Counter(f"nv_cache_{name}_per_model", description, path)
    for name, description, path in (
        ("num_hits", "Number of cache hits per model", "cache_hit.count"),
        (
            "hit_duration",
            "Total cache hit duration per model, in microseconds",
            "cache_hit.ns",
        ),
        ("num_misses", "Number of cache misses per model", "cache_miss.count"),
        (
            "miss_duration",
            "Total cache miss (insert+lookup) duration per model, in microseconds",
            "cache_miss.ns",
        ),
    )
)
_PENDING = _Counter(
    "nv_inference_pending_request_count",
    "Instantaneous number of pending requests awaiting execution per-model.",
)
_SUMMARIES = {
    **{
        key: (f"nv_inference_{key}_summary_us", f"{words} {_US} {cached}")
        for key, words, cached in (
            ("request", "Summary of inference request", _CACHED),
            ("queue", "Summary of inference queuing", _CACHED),
            ("compute_input", "Cumulative compute input", _UNCACHED),
            ("compute_infer", "Cumulative compute inference", _UNCACHED),
            ("compute_output", "Cumulative inference compute output", _UNCACHED),
        )
    },
    **{
        f"cache_{what}": (
            f"nv_cache_{what}_summary_per_model",
            f"Summary of cache {what} counts/durations per model, in microseconds.",
        )
        for what in ("hit", "miss")
    },
}
"""Name and description, by the kind of `LatencySummaries`."""
NAMES = {
    **{
        each.name: "COUNTER"
        for each in (_SUCCESS, _FAILURE, *_COUNTERS, *_DURATIONS, *_CACHE)
    },
    _PENDING.name: "GAUGE",
}
"""Names and kinds of the families."""


def own_metrics(
    versions: Iterable[VersionCounts], config: MetricsConfig
) -> Iterator[Fixed]:
    """Yield the families with the present counts of versions.

    References
    ----------
    core: src/metrics.cc, src/metric_model_reporter.cc
    """
    known = [(version, version.read()) for version in versions]
    yield _counter(_SUCCESS, known)
    yield _failures(known)
    # Without latency counters Triton's counters of executions stay at 0.
    for family in _COUNTERS:
        yield _counter(family, known, stands=not config.counter_latencies)
    for family in _DURATIONS if config.counter_latencies else ():
        yield _counter(family, known)
    cached = [each for each in known if each[0].is_cached]
    for family in _CACHE if cached and config.counter_latencies else ():
        yield _counter(family, cached)
    pending = tuple(
        MetricLine(_PENDING.name, version.labels, version.waiting_count)
        for version, _ in known
    )
    yield Fixed(_PENDING.name, _PENDING.description, "GAUGE", pending)
    yield from _summaries([version for version, _ in known], config.quantiles)


def _counter(
    family: _Counter, versions: list[_Counted], *, stands: bool = False
) -> Fixed:
    # The page shows microseconds.
    unit = 1000 if family.path.endswith(".ns") else 1
    rows = tuple(
        MetricLine(
            family.name, version.labels, 0 if stands else sums[family.path] // unit
        )
        for version, sums in versions
    )
    return Fixed(family.name, family.description, "COUNTER", rows)


def _summaries(
    versions: list[VersionCounts], quantiles: tuple[float, ...]
) -> Iterator[Fixed]:
    """Yield the summaries; as on Triton, cached models have none of whole requests."""
    for kind, (name, description) in _SUMMARIES.items():
        # Values of `is_cached` of models that have this summary.
        when = {"request": (False,), "cache_hit": (True,), "cache_miss": (True,)}.get(
            kind, (False, True)
        )
        rows = tuple(
            row
            for version in versions
            if version.summaries is not None
            if version.is_cached in when
            for row in _summary(
                name, version.labels, version.summaries.by_kind[kind], quantiles
            )
        )
        yield Fixed(name, description, "SUMMARY", rows)


def _summary(
    name: str,
    labels: tuple[tuple[str, str], ...],
    summary: Summary,
    quantiles: tuple[float, ...],
) -> Iterator[MetricLine]:
    yield MetricLine(f"{name}_count", labels, summary.count)
    yield MetricLine(f"{name}_sum", labels, summary.sum_us)
    for quantile, value in summary.quantiles(quantiles, CLOCK.now_ns()).items():
        yield MetricLine(name, (*labels, ("quantile", f"{quantile:g}")), value)


def _failures(versions: list[_Counted]) -> Fixed:
    """Return a line for each reason; ``BACKEND`` means failures of the model."""
    rows = tuple(
        MetricLine(
            _FAILURE.name,
            tuple(sorted((*version.labels, ("reason", reason)))),
            sums[reason],
        )
        for version, sums in versions
        for reason in _REASONS
    )
    return Fixed(_FAILURE.name, _FAILURE.description, "COUNTER", rows)
