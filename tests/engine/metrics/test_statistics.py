"""Triton's counters, from calls as they are recorded."""

from __future__ import annotations

import time

import pytest

from blsnb.clock.pausing_clock import CLOCK
from blsnb.engine.metrics.latency_summaries import LatencySummaries
from blsnb.engine.metrics.statistics import ModelStatistics
from blsnb.trace.events import Call, ModelInfo

MODEL = ModelInfo("model", 1, "python", "cpu", "model", "")


def a_call(start_ns: int = 100) -> Call:
    """Return a call whose phases take 1, 2, 3 … nanoseconds."""
    call = Call(MODEL, None, 0)
    call.request_start_ns = start_ns
    call.queue_start_ns = start_ns + 1
    call.compute_start_ns = start_ns + 3
    call.compute_input_end_ns = start_ns + 6
    call.compute_output_start_ns = start_ns + 10
    call.compute_end_ns = start_ns + 15
    call.request_end_ns = start_ns + 21
    return call


PHASES = ("compute_input", "compute_infer", "compute_output")
NOTHING = {"count": 0, "ns": 0}


def durations(statistics: ModelStatistics) -> dict[str, tuple[int, int]]:
    """Return counts and times that are not zero."""
    stats = statistics.as_dict()["inference_stats"]
    return {
        name: (each["count"], each["ns"])
        for name, each in stats.items()
        if each != NOTHING
    }


def summarised(statistics: ModelStatistics) -> dict[str, tuple[int, int]]:
    """Return counts and microseconds of summaries that are not empty."""
    assert statistics.summaries is not None
    return {
        kind: (summary.count, summary.sum_us)
        for kind, summary in statistics.summaries.by_kind.items()
        if summary.count
    }


def test_an_unused_model_has_zeros():
    """It has no batches."""
    names = ("success", "fail", "queue", *PHASES, "cache_hit", "cache_miss")

    assert {
        "name": "model",
        "version": "3",
        "last_inference": 0,
        "inference_count": 0,
        "execution_count": 0,
        "inference_stats": dict.fromkeys(names, NOTHING),
        "response_stats": {},
        "batch_stats": [],
        "memory_usage": [],
    } == ModelStatistics("model", 3).as_dict()


def test_phases_are_added_up():
    """Each phase lasts from one activity to the next."""
    statistics = ModelStatistics("model", 1)
    statistics.add(a_call().numbers, 2, False, 2)
    statistics.add(a_call(500).numbers, 2, False, 2)
    row = statistics.as_dict()

    assert {
        "success": {"count": 2, "ns": 42},
        "fail": {"count": 0, "ns": 0},
        "queue": {"count": 2, "ns": 4},
        "compute_input": {"count": 2, "ns": 6},
        "compute_infer": {"count": 2, "ns": 8},
        "compute_output": {"count": 2, "ns": 10},
        "cache_hit": {"count": 0, "ns": 0},
        "cache_miss": {"count": 0, "ns": 0},
    } == row["inference_stats"]
    assert (4, 2) == (row["inference_count"], row["execution_count"])


def test_a_failure_counts_as_an_execution_only():
    """Only the duration ``fail`` and that of its batch size grow."""
    statistics = ModelStatistics("model", 1)
    statistics.add(a_call().numbers, 3, True, 3)
    row = statistics.as_dict()

    assert (0, 1) == (row["inference_count"], row["execution_count"])
    assert {"fail": (1, 21)} == durations(statistics)
    times = {"compute_input": 3, "compute_infer": 4, "compute_output": 5}
    phases = {name: {"count": 1, "ns": ns} for name, ns in times.items()}
    assert [{"batch_size": 3} | phases] == row["batch_stats"]
    assert (0, 1) == statistics.totals()


@pytest.mark.parametrize(
    ("failed", "size", "counts"),
    [(False, 1, True), (False, 0, True), (True, 1, True), (True, 0, False)],
)
def test_the_last_inference_is_that_of_a_success_or_an_execution(failed, size, counts):
    """A failed request that led no execution does not count."""
    ago_ms = 10_000
    call = a_call()
    call.request_end_ns = CLOCK.now_ns() - ago_ms * 1_000_000
    statistics = ModelStatistics("model", 1)
    statistics.add(call.numbers, 1, failed, size)

    before_ms = time.time_ns() // 1_000_000 - ago_ms
    last_ms = statistics.as_dict()["last_inference"]
    assert (0 <= before_ms - last_ms < 1000) if counts else last_ms == 0


def test_a_rejected_request_is_a_failure_without_an_execution():
    """Its duration counts, up to its rejection."""
    statistics = ModelStatistics("model", 1)
    statistics.reject(a_call(), "REJECTED")
    row = statistics.as_dict()

    assert (0, 0) == (row["inference_count"], row["execution_count"])
    assert {"fail": (1, 21)} == durations(statistics)
    assert {"REJECTED": 1} == statistics.rejections
    assert (0, 1) == statistics.totals()


def test_a_request_of_an_ensemble_has_the_times_of_its_steps():
    """A failed one counts for its step, too, as on Triton."""
    statistics = ModelStatistics("ensemble", 1)
    statistics.summarise()
    statistics.watch()
    statistics.add_ensemble(a_call(), 2, False, 104, (2000, 3000, 4000))
    statistics.add_ensemble(a_call(500), 5, True, 504, (9, 9, 9))
    row = statistics.as_dict()

    phases = dict(zip(PHASES, ((1, 2000), (1, 3000), (1, 4000)), strict=True))
    success = {"success": (1, 21), "queue": (1, 3)}
    assert success | {"fail": (2, 42)} | phases == durations(statistics)
    assert (2, 1) == (row["inference_count"], row["execution_count"])
    assert [2] == [batch["batch_size"] for batch in row["batch_stats"]]
    assert row["last_inference"] > 0
    assert {"OTHER": 2} == statistics.rejections
    assert ((121, 21),) == statistics.watch()
    us = dict(zip(PHASES, ((1, 2), (1, 3), (1, 4)), strict=True))
    assert {"request": (1, 0), "queue": (1, 0)} | us == summarised(statistics)


def test_a_cached_response_is_a_success_without_an_execution():
    """A miss adds its look-up and insertion to the time of its request."""
    statistics = ModelStatistics("model", 1)
    statistics.summarise()
    statistics.watch()
    statistics.hit(a_call(), 2000)
    statistics.add(a_call(500).numbers, 1, False, 1)
    statistics.miss(3000)

    assert {
        "success": (2, 21 + 21 + 3000),
        "queue": (2, 2),
        "compute_input": (1, 3),
        "compute_infer": (1, 4),
        "compute_output": (1, 5),
        "cache_hit": (1, 2000),
        "cache_miss": (1, 3000),
    } == durations(statistics)
    assert (2, 0) == statistics.totals()
    assert (1, 1, 2) == statistics.work()
    assert ((121, 21), (521, 21)) == statistics.watch()
    assert {
        **dict.fromkeys(("request", "queue"), (2, 0)),
        **dict.fromkeys(PHASES, (1, 0)),
        "cache_hit": (1, 2),
        "cache_miss": (1, 3),
    } == summarised(statistics)


def test_the_summaries_have_the_times_of_a_request():
    """A failed request has none."""
    statistics = ModelStatistics("model", 1)
    statistics.summarise()
    known = statistics.summaries
    statistics.summarise()
    statistics.add([us * 1000 for us in (0, 1, 3, 6, 10, 15, 21, 0)], 1, False, 1)
    statistics.add(a_call().numbers, 1, True, 1)

    assert isinstance(known, LatencySummaries)
    assert known is statistics.summaries
    times = {"compute_input": (1, 3), "compute_infer": (1, 4), "compute_output": (1, 5)}
    assert {"request": (1, 21), "queue": (1, 2)} | times == summarised(statistics)


def test_the_latest_512_requests_are_kept_while_they_are_watched():
    """Only the newest ones of them, and no failures."""
    statistics = ModelStatistics("model", 1)
    statistics.add(a_call().numbers, 1, False, 1)
    assert () == statistics.watch()
    for number in range(513):
        statistics.add(a_call(number).numbers, 1, False, 1)
    statistics.add(a_call().numbers, 1, True, 1)

    latest = statistics.watch()
    assert (512, (22, 21)) == (len(latest), latest[0])
    assert (533, 21) == latest[-1]
    statistics.unwatch()
    assert () == statistics.watch()


def test_without_a_batcher_each_execution_is_of_one_request():
    """An unused model has no executions."""
    statistics = ModelStatistics("model", 3)
    assert ("model", 3, "", {}, {}) == tuple(vars(statistics.batched("")).values())[:5]
    for size in (4, 1, 4):
        statistics.add(a_call().numbers, size, False, size)

    batched = statistics.batched("")
    assert ({1: 1, 4: 2}, {1: 3}) == (batched.sizes, batched.requests)
    assert ("model", 3, "x") == tuple(vars(statistics.batched("x")).values())[:3]


def test_batches_are_sorted_by_size():
    """There is an entry for each executed size."""
    statistics = ModelStatistics("model", 1)
    for size in (4, 1, 4):
        statistics.add(a_call().numbers, size, False, size)

    assert [(1, 1), (4, 2)] == [
        (batch["batch_size"], batch["compute_input"]["count"])
        for batch in statistics.as_dict()["batch_stats"]
    ]


class Growing(dict):
    """Sums by batch size, to which a thread adds a size while they are walked."""

    def values(self):
        return self._walked(super().values())

    def items(self):
        return self._walked(super().items())

    def _walked(self, found):
        for each in found:
            self[100 + len(self)] = next(iter(super().values()))
            yield each


def test_statistics_are_read_while_a_batch_of_a_new_size_ends():
    """What is read is what there was at the begin."""
    statistics = ModelStatistics("model", 1)
    statistics.add(a_call().numbers, 4, False, 4)
    statistics._batches = Growing(statistics._batches)

    assert 1 == statistics.as_dict()["execution_count"]
    assert {4: 1} == statistics.batched("").sizes
    assert (4, 1, 2) == statistics.work()
    assert (1, 0) == statistics.totals()


def test_requests_of_a_batch_share_an_execution():
    """Each counts its inferences and times; ``execute`` counts once."""
    statistics = ModelStatistics("model", 1)
    statistics.add(a_call().numbers, 1, False, 3)
    statistics.add(a_call().numbers, 2, False, 0)
    row = statistics.as_dict()

    assert (3, 1) == (row["inference_count"], row["execution_count"])
    assert {"count": 2, "ns": 8} == row["inference_stats"]["compute_infer"]
    assert [(3, {"count": 1, "ns": 4})] == [
        (batch["batch_size"], batch["compute_infer"]) for batch in row["batch_stats"]
    ]
