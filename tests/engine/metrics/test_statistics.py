"""Triton's counters, from calls as they are recorded."""

from __future__ import annotations

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


def test_an_unused_model_has_zeros():
    """It has no batches."""
    row = ModelStatistics("model", 3).as_dict()

    assert ("model", "3", 0, 0, 0, []) == (
        row["name"],
        row["version"],
        row["last_inference"],
        row["inference_count"],
        row["execution_count"],
        row["batch_stats"],
    )
    assert {"count": 0, "ns": 0} == row["inference_stats"]["success"]


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
    assert {"count": 1, "ns": 21} == row["inference_stats"]["fail"]
    assert {"count": 0, "ns": 0} == row["inference_stats"]["queue"]
    assert [3] == [batch["batch_size"] for batch in row["batch_stats"]]
    assert {"count": 1, "ns": 4} == row["batch_stats"][0]["compute_infer"]


def test_a_rejected_request_is_a_failure_without_an_execution():
    """Its duration counts, up to its rejection."""
    statistics = ModelStatistics("model", 1)
    statistics.reject(a_call(), "REJECTED")
    row = statistics.as_dict()

    assert (0, 0) == (row["inference_count"], row["execution_count"])
    assert {"count": 1, "ns": 21} == row["inference_stats"]["fail"]
    assert {"count": 0, "ns": 0} == row["inference_stats"]["queue"]


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
