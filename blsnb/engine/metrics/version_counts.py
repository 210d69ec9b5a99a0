"""Counts of a model version over its loads, as the metrics page has them."""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from blsnb.engine.metrics.statistics import ModelStatistics
from blsnb.trace.events import ModelInfo

if TYPE_CHECKING:
    from blsnb.engine.metrics.latency_summaries import LatencySummaries


class MeasuredLoad(Protocol):
    """A loaded model version with counters."""

    @property
    def statistics(self) -> ModelStatistics:
        """The counters of the requests."""

    @property
    def waiting_count(self) -> int:
        """Number of requests that wait to be executed."""


class VersionCounts:
    """The counts of a model version, which a later load continues.

    Parameters
    ----------
    info
        The name and number of the version.
    tags
        Its ``metric_tags``, which become labels.
    is_cached
        Whether the first load enables the response cache.

    References
    ----------
    core: src/metric_model_reporter.cc, MetricModelReporter::Create
    """

    def __init__(
        self, info: ModelInfo, tags: Mapping[str, str], is_cached: bool
    ) -> None:
        self.name, self.number = info.name, info.version
        own = (("model", info.name), ("version", str(info.version)))
        self.labels = (*sorted((f"_{key}", tags[key]) for key in tags), *own)
        self.is_cached = is_cached
        self.summaries: LatencySummaries | None = None
        """Summaries of all loads; None unless the server keeps them."""
        self._loads: list[tuple[weakref.ref[MeasuredLoad], ModelStatistics]] = []
        self._ended: Counter[str] = Counter()
        """Sums of the loads that are gone."""
        self._lock = threading.Lock()

    def add(self, load: MeasuredLoad) -> None:
        """Add a load; the earlier ones may still execute requests."""
        statistics = load.statistics
        self.summaries = self.summaries or statistics.summaries
        statistics.summaries = self.summaries
        with self._lock:
            self._fold()
            self._loads.append((weakref.ref(load), statistics))

    def _fold(self) -> None:
        """Keep only the sums of loads that are gone."""
        gone = [each for reference, each in self._loads if reference() is None]
        for statistics in gone:
            self._ended.update(_numbers(statistics))
        self._loads = [each for each in self._loads if each[1] not in gone]

    def read(self) -> Counter[str]:
        """Return the present sums; see `_numbers` for their keys."""
        with self._lock:
            self._fold()
            sums = self._ended.copy()
            for _, statistics in self._loads:
                sums.update(_numbers(statistics))
        return sums

    @property
    def waiting_count(self) -> int:
        """Number of requests that wait to be executed."""
        loads = (reference() for reference, _ in self._loads.copy())
        return sum(load.waiting_count for load in loads if load is not None)


def _numbers(statistics: ModelStatistics) -> dict[str, int]:
    """Return counters by names such as ``"success.ns"``, and failures by reason."""
    stats = statistics.as_dict()
    numbers = {
        f"{name}.{unit}": value
        for name, entry in stats["inference_stats"].items()
        for unit, value in entry.items()
    }
    rejections = statistics.rejections.copy()
    backend = numbers["fail.count"] - rejections.total()
    counts = {name: stats[name] for name in ("inference_count", "execution_count")}
    return numbers | counts | rejections | {"BACKEND": backend}
