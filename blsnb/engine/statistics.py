"""ModelStatistics: Triton's counters, a fold over the same recorded calls."""

from __future__ import annotations

import time
from typing import Any

from blsnb.trace.events import Call


class Duration:
    """How often something happened, and how long it took in all."""

    __slots__ = ("count", "ns")

    def __init__(self) -> None:
        self.count = 0
        self.ns = 0

    def add(self, ns: int) -> None:
        """Count one more."""
        self.count += 1
        self.ns += ns

    def as_dict(self) -> dict[str, int]:
        """Return Triton's JSON form."""
        return {"count": self.count, "ns": self.ns}


class ModelStatistics:
    """The counters of one model version; they restart at 0 with every load.

    References
    ----------
    core: src/infer_stats.cc, InferenceStatsAggregator
    """

    def __init__(self, name: str, version: int) -> None:
        self._name = name
        self._version = version
        self._last_inference_ms = 0
        self._inference_count = 0
        self._execution_count = 0
        names = ("success", "fail", "queue")
        names += ("compute_input", "compute_infer", "compute_output")
        self._durations = {name: Duration() for name in names}
        self._batches: dict[int, dict[str, Duration]] = {}

    def add(self, call: Call, batch_size: int, failed: bool) -> None:
        """Count a call that ended.

        Parameters
        ----------
        failed
            Whether ``execute`` failed; an error that a model returns is a success.
        """
        self._execution_count += 1
        self._last_inference_ms = time.time_ns() // 1_000_000
        total = call.request_end_ns - call.request_start_ns
        phases = _phases(call)
        self._count_batch(batch_size, phases)
        if failed:
            self._durations["fail"].add(total)
            return
        self._inference_count += batch_size
        self._durations["success"].add(total)
        self._durations["queue"].add(call.compute_start_ns - call.queue_start_ns)
        for name, ns in phases.items():
            self._durations[name].add(ns)

    def _count_batch(self, batch_size: int, phases: dict[str, int]) -> None:
        batch = self._batches.get(batch_size)
        if batch is None:
            batch = self._batches[batch_size] = {name: Duration() for name in phases}
        for name, ns in phases.items():
            batch[name].add(ns)

    def as_dict(self) -> dict[str, Any]:
        """Return the row of Triton's statistics answer."""
        durations = {name: d.as_dict() for name, d in self._durations.items()}
        nothing = Duration().as_dict()
        return {
            "name": self._name,
            "version": str(self._version),
            "last_inference": self._last_inference_ms,
            "inference_count": self._inference_count,
            "execution_count": self._execution_count,
            "inference_stats": durations
            | {"cache_hit": nothing, "cache_miss": dict(nothing)},
            "response_stats": {},
            "batch_stats": [
                {"batch_size": size} | {name: d.as_dict() for name, d in batch.items()}
                for size, batch in sorted(self._batches.items())
            ],
            "memory_usage": [],
        }


def _phases(call: Call) -> dict[str, int]:
    return {
        "compute_input": call.compute_input_end_ns - call.compute_start_ns,
        "compute_infer": call.compute_output_start_ns - call.compute_input_end_ns,
        "compute_output": call.compute_end_ns - call.compute_output_start_ns,
    }
