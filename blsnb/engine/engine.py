"""The models in service, and what runs requests on them."""

from __future__ import annotations

from collections.abc import Mapping

from blsnb.engine.catalog import Catalog
from blsnb.engine.instance.placement import Placements
from blsnb.engine.metrics import server_metrics as own_metrics
from blsnb.engine.metrics.registry import MetricRegistry
from blsnb.engine.request.abandoned import AbandonedExecutions
from blsnb.engine.request.interrupts import Folders
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.request.open_requests import OpenRequests
from blsnb.engine.response_cache import ResponseCache
from blsnb.engine.routing import Router
from blsnb.engine.scheduling.scheduler_choice import Schedulers
from blsnb.engine.served import Served
from blsnb.engine.settings import Settings
from blsnb.engine.threads.alarm import Alarm
from blsnb.engine.threads.workers import Workers
from blsnb.pb_utils.compiled.releases import has
from blsnb.runtimes.host import NumpyRuntime
from blsnb.trace.recorder import Recorder

_MAX_STREAMS = 1024
"""Maximum number of threads that run decoupled requests."""


class Engine:
    """The models that serve, the requests in flight, and the threads that run them.

    Parameters
    ----------
    recorder
        Records everything that happens.
    settings
        The server's settings.
    folders
        Returns the folders that contain the files of models.
    """

    def __init__(
        self, recorder: Recorder, settings: Settings, folders: Folders
    ) -> None:
        self.recorder = recorder
        self.settings = settings
        self.release = release = settings.release
        self.placements = settings.placements or Placements(NumpyRuntime())
        self.cache = (
            ResponseCache(settings.cache_bytes) if settings.cache_bytes else None
        )
        self.catalog = catalog = Catalog()
        self.metrics = MetricRegistry(own_metrics.NAMES)
        self._alarm = Alarm()
        self.workers = Workers(_MAX_STREAMS, "blsnb stream")
        self.schedulers = Schedulers(
            self._alarm, self.workers, settings.hang_notice_s, settings.rate_limits
        )
        self.abandoned = AbandonedExecutions(recorder.changed)
        self.open_requests = OpenRequests(
            recorder, settings.hang_notice_s, folders, self._abandon
        )
        self.router = Router(
            catalog,
            recorder,
            self.workers,
            has("bls_error_codes", release),
            self.open_requests.end,
        )

    def _abandon(self, root: RootRequest) -> None:
        """Replace the instances that are busy with an ended request."""
        for execution in self.catalog.replace_abandoned(root):
            self.abandoned.add(execution, root)

    def serve(self, name: str, versions: Mapping[int, Served]) -> None:
        """Start serving versions of a model; retire its other versions."""
        if self.settings.metrics.summary_latencies:
            for version in versions.values():
                version.statistics.summarise()
        for version in self.catalog.put(name, dict(versions)):
            version.retire()

    def withdraw(self, name: str) -> None:
        """Stop serving a model; requests in flight are finished first."""
        for version in self.catalog.remove(name):
            version.retire()

    def metrics_text(self) -> str:
        """Return all metrics in Prometheus' text format."""
        counts, config = self.catalog.counts(), self.settings.metrics
        return self.metrics.exposition(own_metrics.own_metrics(counts, config))

    def stop(self, timeout_s: float) -> None:
        """Refuse new requests, and end those in flight.

        Parameters
        ----------
        timeout_s
            Seconds for all requests in flight together.
        """
        self.open_requests.is_stopping = True
        try:
            self.open_requests.drain(timeout_s)
        finally:
            self.open_requests.is_closed = True

    def close(self) -> None:
        """Finalize what no longer serves but waits for answers; stop every thread."""
        for version in self.catalog.alive():
            version.retire()
        self.abandoned.close()
        self._alarm.close()
        self.workers.shutdown(cancel_futures=True)
