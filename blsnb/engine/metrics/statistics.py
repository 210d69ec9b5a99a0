"""Triton's counters of a model version."""

from __future__ import annotations

import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from blsnb.clock.pausing_clock import CLOCK
from blsnb.engine.metrics.batching import BatchingCounts, ModelBatching
from blsnb.trace.events import Call

if TYPE_CHECKING:
    from blsnb.engine.metrics.latency_summaries import LatencySummaries

_PHASES = ("compute_input", "compute_infer", "compute_output")
MAX_LATEST = 512
"""Maximum number of latest requests that are kept of a watched model."""


class _Sums:
    """Number of executions, and total times of their phases."""

    __slots__ = ("count", "infer_ns", "input_ns", "output_ns")

    def __init__(self) -> None:
        self.count = self.input_ns = self.infer_ns = self.output_ns = 0

    def add(self, input_ns: int, infer_ns: int, output_ns: int) -> None:
        """Count one execution."""
        self.count += 1
        self.input_ns += input_ns
        self.infer_ns += infer_ns
        self.output_ns += output_ns

    def merge(self, other: _Sums, sign: int) -> None:
        """Add or subtract other sums."""
        self.count += sign * other.count
        self.input_ns += sign * other.input_ns
        self.infer_ns += sign * other.infer_ns
        self.output_ns += sign * other.output_ns

    def as_dict(self) -> dict[str, dict[str, int]]:
        """Return the phases in Triton's JSON form."""
        times = (self.input_ns, self.infer_ns, self.output_ns)
        return {
            name: _duration(self.count, ns)
            for name, ns in zip(_PHASES, times, strict=True)
        }


def _duration(count: int, ns: int) -> dict[str, int]:
    return {"count": count, "ns": ns}


class ModelStatistics:
    """The counters of one model version; they restart with every load.

    References
    ----------
    core: src/infer_stats.cc, InferenceStatsAggregator
    """

    def __init__(self, name: str, version: int) -> None:
        self._name = name
        self._version = version
        self._last_ns = 0
        self._inference_count = 0
        self._success_ns = self._queue_ns = self._fail_ns = 0
        self._failures = _Sums()
        self.rejections: Counter[str] = Counter()
        """Requests that failed outside an execution, by Triton's name of the reason."""
        self._hits = self._hit_ns = self._misses = self._miss_ns = 0
        self._mates = _Sums()
        """Requests of batches that another request led."""
        self._batches: dict[int, _Sums] = {}
        self.batching = BatchingCounts()
        """Counts of the model's batcher, if it has one."""
        self._latest: deque[tuple[int, int]] | None = None
        """End and duration of each of the latest requests."""
        self.summaries: LatencySummaries | None = None
        """None unless the server keeps them."""

    def add(
        self, numbers: list[int], batch_size: int, failed: bool, execution_size: int
    ) -> None:
        """Count a call that ended.

        Parameters
        ----------
        numbers
            Its times, as in `Call.numbers`.
        batch_size
            Number of inferences of the request.
        failed
            Whether ``execute`` failed; an error that a model returns is a success.
        execution_size
            Number of inferences of its execution if it led that; else 0.
        """
        begun, queued, start, ready, answered, computed, end, _ = numbers
        if execution_size or not failed:
            self._last_ns = end
        infer_ns, output_ns = answered - ready, computed - answered
        sums = self._batches.get(execution_size) or self._sums(execution_size)
        sums.count += 1
        sums.input_ns += ready - start
        sums.infer_ns += infer_ns
        sums.output_ns += output_ns
        if failed:
            self._fail_ns += end - begun
            self._failures.add(ready - start, infer_ns, output_ns)
            return
        self._inference_count += batch_size
        self._success_ns += end - begun
        self._queue_ns += start - queued
        if self._latest is not None:
            self._latest.append((end, end - begun))
        if self.summaries is not None:
            self.summaries.add(
                end,
                request=end - begun,
                queue=start - queued,
                compute_input=ready - start,
                compute_infer=infer_ns,
                compute_output=output_ns,
            )

    def add_ensemble(
        self,
        call: Call,
        batch_size: int,
        failed: bool,
        begun_ns: int,
        phases: tuple[int, int, int],
    ) -> None:
        """Count a call of an ensemble that ended.

        Parameters
        ----------
        begun_ns
            End of its waiting time.
        phases
            Total nanoseconds of input, execution and output of all steps.
        """
        took_ns = call.request_end_ns - call.request_start_ns
        if failed:
            # Triton counts a failure for the step and for the request.
            self.rejections["OTHER"] += 2
            self._fail_ns += 2 * took_ns
            return
        self._last_ns = call.request_end_ns
        self._sums(batch_size).add(*phases)
        self._inference_count += batch_size
        queue_ns = begun_ns - call.queue_start_ns
        self._queue_ns += queue_ns
        times = zip(_PHASES, phases, strict=True)
        self._succeed(call, queue=queue_ns, **dict(times))

    def reject(self, call: Call, reason: str) -> None:
        """Count a call that was rejected before execution.

        Parameters
        ----------
        reason
            ``REJECTED`` or ``CANCELED``, as in Triton's metrics.
        """
        self.rejections[reason] += 1
        self._fail_ns += call.request_end_ns - call.request_start_ns

    def hit(self, call: Call, look_up_ns: int) -> None:
        """Count a call that the response cache answered."""
        self._hits += 1
        self._hit_ns += look_up_ns
        self._succeed(call, queue=0, cache_hit=look_up_ns)

    def _succeed(self, call: Call, **durations_ns: int) -> None:
        end_ns = call.request_end_ns
        took_ns = end_ns - call.request_start_ns
        self._success_ns += took_ns
        if self._latest is not None:
            self._latest.append((end_ns, took_ns))
        if self.summaries is not None:
            self.summaries.add(end_ns, request=took_ns, **durations_ns)

    def miss(self, ns: int) -> None:
        """Count a miss of the response cache; ``ns`` for look-up and insertion."""
        self._misses += 1
        self._miss_ns += ns
        self._success_ns += ns
        if self.summaries is not None:
            self.summaries.add(CLOCK.now_ns(), cache_miss=ns)

    def _sums(self, size: int) -> _Sums:
        """Return the sums of a batch size; size 0 means a request that led no batch."""
        return self._batches.setdefault(size, _Sums()) if size else self._mates

    def _by_size(self) -> list[tuple[int, _Sums]]:
        """Return the sums by batch size, ascending."""
        # A copy is atomic, an iteration is not: other threads add sizes.
        return sorted(self._batches.copy().items())

    def as_dict(self) -> dict[str, Any]:
        """Return the statistics in Triton's JSON form."""
        count, failed = self.totals()
        batches = self._by_size()
        return {
            "name": self._name,
            "version": str(self._version),
            "last_inference": self._last_inference_ms(),
            "inference_count": self._inference_count,
            "execution_count": sum(sums.count for _, sums in batches),
            "inference_stats": {
                "success": _duration(count, self._success_ns),
                "fail": _duration(failed, self._fail_ns),
                "queue": _duration(count, self._queue_ns),
                **self._successes().as_dict(),
                "cache_hit": _duration(self._hits, self._hit_ns),
                "cache_miss": _duration(self._misses, self._miss_ns),
            },
            "response_stats": {},
            "batch_stats": [
                {"batch_size": size} | batch.as_dict() for size, batch in batches
            ],
            "memory_usage": [],
        }

    def batched(self, batcher: str) -> ModelBatching:
        """Return counts of batches.

        Parameters
        ----------
        batcher
            ``"dynamic_batching"`` or ``"sequence_batching"``; empty without a batcher.
        """
        if batcher:
            return self.batching.taken(self._name, self._version, batcher)
        sizes = {size: sums.count for size, sums in self._by_size()}
        requests = {1: sum(sizes.values())} if sizes else {}
        return ModelBatching(self._name, self._version, "", sizes, requests)

    def totals(self) -> tuple[int, int]:
        """Return the numbers of successful and of failed requests."""
        succeeded = self._successes().count + self._hits
        return succeeded, self._failures.count + self.rejections.total()

    def work(self) -> tuple[int, int, int]:
        """Return numbers of inferences and executions, and nanoseconds in the queue."""
        executions = sum(sums.count for _, sums in self._by_size())
        return self._inference_count, executions, self._queue_ns

    def watch(self) -> tuple[tuple[int, int], ...]:
        """Return end and nanoseconds of the latest successful requests.

        They are kept from the first use of this method on: it costs each request time.
        """
        if self._latest is None:
            self._latest = deque(maxlen=MAX_LATEST)
        # A copy is atomic, an iteration is not.
        return tuple(self._latest.copy())

    def unwatch(self) -> None:
        """Stop keeping the latest requests."""
        self._latest = None

    def summarise(self) -> None:
        """Keep summaries from now on; safe to repeat."""
        # Deferred: they are kept where the server's settings demand it.
        from blsnb.engine.metrics.latency_summaries import LatencySummaries

        self.summaries = self.summaries or LatencySummaries()

    def _successes(self) -> _Sums:
        """Return the sums of successful executions."""
        successes = _Sums()
        for sums in (self._mates, *self._batches.copy().values()):
            successes.merge(sums, 1)
        successes.merge(self._failures, -1)
        return successes

    def _last_inference_ms(self) -> int:
        """Return the end of the last request in milliseconds of wall-clock time."""
        if not self._last_ns:
            return 0
        ago_ns = CLOCK.now_ns() - self._last_ns
        return (time.time_ns() - ago_ns) // 1_000_000
