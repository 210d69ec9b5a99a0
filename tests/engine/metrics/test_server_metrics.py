"""The page of the server's own metrics, as Triton writes it."""

from __future__ import annotations

import pytest

from blsnb.engine.metrics.config import MetricsConfig
from blsnb.engine.metrics.latency_summaries import LatencySummaries
from blsnb.engine.metrics.registry import MetricRegistry
from blsnb.engine.metrics.server_metrics import NAMES, own_metrics
from blsnb.engine.metrics.statistics import ModelStatistics
from blsnb.engine.metrics.version_counts import VersionCounts
from blsnb.trace.events import ModelInfo

US = 1000
ALL, EXECUTED = "(includes cached requests)", "(does not include cached requests)"
LABELS = '_a="b",model="m"'
FAILURE = "nv_inference_request_failure"
TIME = "duration in microseconds"
SEEN = {
    "nv_inference_request_success": (
        "Number of successful inference requests, all batch sizes",
        1,
    ),
    FAILURE: ("Number of failed inference requests, all batch sizes", None),
    "nv_inference_count": (f"Number of inferences performed {EXECUTED}", 6),
    "nv_inference_exec_count": (f"Number of model executions performed {EXECUTED}", 2),
    "nv_inference_request_duration_us": (
        f"Cumulative inference request {TIME} {ALL}",
        28,
    ),
    "nv_inference_queue_duration_us": (f"Cumulative inference queuing {TIME} {ALL}", 2),
    "nv_inference_compute_input_duration_us": (
        f"Cumulative compute input {TIME} {EXECUTED}",
        3,
    ),
    "nv_inference_compute_infer_duration_us": (
        f"Cumulative compute inference {TIME} {EXECUTED}",
        4,
    ),
    "nv_inference_compute_output_duration_us": (
        f"Cumulative inference compute output {TIME} {EXECUTED}",
        5,
    ),
}
CACHE = {
    "nv_cache_num_hits_per_model": ("Number of cache hits per model", 0),
    "nv_cache_hit_duration_per_model": (
        "Total cache hit duration per model, in microseconds",
        0,
    ),
    "nv_cache_num_misses_per_model": ("Number of cache misses per model", 1),
    "nv_cache_miss_duration_per_model": (
        "Total cache miss (insert+lookup) duration per model, in microseconds",
        7,
    ),
}
PENDING = "nv_inference_pending_request_count"
CACHE_SUMMARY = "Summary of cache {} counts/durations per model, in microseconds."
SUMMARIES = {
    "nv_inference_request_summary_us": f"Summary of inference request {TIME} {ALL}",
    "nv_inference_queue_summary_us": f"Summary of inference queuing {TIME} {ALL}",
    "nv_inference_compute_input_summary_us": (
        f"Cumulative compute input {TIME} {EXECUTED}"
    ),
    "nv_inference_compute_infer_summary_us": (
        f"Cumulative compute inference {TIME} {EXECUTED}"
    ),
    "nv_inference_compute_output_summary_us": (
        f"Cumulative inference compute output {TIME} {EXECUTED}"
    ),
    "nv_cache_hit_summary_per_model": CACHE_SUMMARY.format("hit"),
    "nv_cache_miss_summary_per_model": CACHE_SUMMARY.format("miss"),
}


def block(name, kind, description, value):
    """Return a family with one line, or that of failures with one for each reason."""
    rows = [f'{name}{{{LABELS},version="2"}} {value}']
    if name == FAILURE:
        reasons = {"OTHER": 2, "BACKEND": 1, "CANCELED": 3, "REJECTED": 4}
        rows = [
            f'{name}{{{LABELS},reason="{reason}",version="2"}} {count}'
            for reason, count in reasons.items()
        ]
    head = [f"# HELP {name} {description}", f"# TYPE {name} {kind}"]
    return "".join(f"{each}\n" for each in [*head, *rows])


class Load:
    """A loaded version whose requests are counted."""

    waiting_count = 9

    def __init__(self):
        self.statistics = ModelStatistics("m", 2)


@pytest.fixture(params=[False, True])
def counts(request):
    """Counts of a version with requests that succeeded and failed in each way."""
    info = ModelInfo("m", 2, "python", "cpu", "m", "")
    return VersionCounts(info, {"a": "b"}, request.param)


def a_load(counts):
    """Return a load with requests that succeeded and failed in each way."""
    load = Load()
    counts.add(load)
    statistics = load.statistics
    numbers = [each * US for each in (0, 1, 3, 6, 10, 15, 21, 0)]
    statistics.add(numbers, 6, False, 6)
    statistics.add(numbers, 6, True, 6)
    statistics.rejections.update({"OTHER": 2, "CANCELED": 3, "REJECTED": 4})
    statistics.miss(7 * US)
    return load


def page(counts, config):
    return MetricRegistry({}).exposition(own_metrics([counts], config))


def test_the_page_has_each_count_of_a_version(counts):
    """Times are in microseconds; only cached models have counts of the cache."""
    load = a_load(counts)
    pending = (
        "Instantaneous number of pending requests awaiting execution per-model.",
        load.waiting_count,
    )
    counters = SEEN | CACHE if counts.is_cached else SEEN

    shown = page(counts, MetricsConfig())

    expected = [block(name, "counter", *each) for name, each in counters.items()]
    assert "".join([*expected, block(PENDING, "gauge", *pending)]) == shown
    kinds = dict.fromkeys(SEEN | CACHE, "COUNTER") | {PENDING: "GAUGE"}
    assert kinds == NAMES


def test_without_counters_of_latencies_executions_stay_at_zero(counts):
    """Numbers of requests continue, as on Triton."""
    load = a_load(counts)
    lines = page(counts, MetricsConfig(counter_latencies=False)).splitlines()

    assert [1, 2, 1, 3, 4, 0, 0, load.waiting_count] == [
        int(line.split()[-1]) for line in lines if not line.startswith("#")
    ]


def test_cached_models_have_other_summaries(counts):
    """The cache replaces the summary of whole requests."""
    kept = counts.summaries = LatencySummaries()
    for number, summary in enumerate(kept.by_kind.values(), 1):
        summary.add(0, number * US)

    shown = page(counts, MetricsConfig(quantiles=(0.25,)))

    names = list(SUMMARIES)
    chosen = names[1:] if counts.is_cached else names[:5]
    assert (
        "".join(
            f"# HELP {name} {SUMMARIES[name]}\n# TYPE {name} summary\n"
            f'{name}_count{{{LABELS},version="2"}} 1\n'
            f'{name}_sum{{{LABELS},version="2"}} {names.index(name) + 1}\n'
            f'{name}{{{LABELS},version="2",quantile="0.25"}} Nan\n'
            for name in chosen
        )
        == shown[shown.index(f"# HELP {chosen[0]}") :]
    )


def test_a_later_load_continues_the_counts(counts):
    """Those of a load that is gone are kept; its waiting requests are not."""
    load, later = a_load(counts), Load()
    counts.add(later)
    later.statistics.miss(1)
    before = counts.read()
    assert 18 == counts.waiting_count
    del load

    assert 9 == counts.waiting_count
    assert before == counts.read() == counts.read()
    assert (2, 1, 6, 2) == tuple(
        before[name]
        for name in (
            "cache_miss.count",
            "success.count",
            "inference_count",
            "execution_count",
        )
    )
