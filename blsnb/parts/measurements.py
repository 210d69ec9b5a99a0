"""The measurements of a server: statistics, batching, metrics, the live monitor."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from blsnb.arguments import check_text, check_type, version_of
from blsnb.clock.pausing_clock import CLOCK
from blsnb.engine.engine import Engine
from blsnb.engine.metrics.batching import ModelBatching
from blsnb.engine.request.validation import RequestError
from blsnb.parts.lifetime import ServerLifetime
from blsnb.parts.model_reports import inference_error

if TYPE_CHECKING:
    from blsnb.dashboard.monitor import Monitor
    from blsnb.engine.readings import Reading


class Measurements:
    """Reads the counters of an engine."""

    def __init__(self, engine: Engine, lifetime: ServerLifetime) -> None:
        self._engine = engine
        self._lifetime = lifetime
        self._lock = threading.Lock()
        self._monitor: Monitor | None = None

    def statistics(self, name: str | None, version: int) -> dict[str, Any]:
        """Return Triton's statistics of one model, or of all that serve."""
        check_type("name", name, str | None, "the name of a model, or None for all")
        version = version_of(version)
        try:
            return {"model_stats": self._engine.catalog.statistics(name, version)}
        except RequestError as error:
            raise inference_error(error) from None

    def batching(self, name: str, version: int) -> ModelBatching:
        """Return how a model's requests were batched, and why some were not."""
        check_text(name=name)
        version = version_of(version)
        try:
            return self._engine.catalog.batching(name, version)
        except RequestError as error:
            raise inference_error(error) from None

    def reading(self) -> Reading:
        """Return the present counters of the server."""
        # Deferred: few servers are monitored.
        from blsnb.engine import readings

        engine = self._engine
        in_flight = len(engine.open_requests.in_flight())
        now_ns = CLOCK.now_ns()
        return readings.read(engine.catalog, engine.abandoned, in_flight, now_ns)

    def monitor(self) -> Monitor:
        """Return the monitor of the server; a new one if the last one was closed."""
        from blsnb.dashboard.monitor import Monitor
        from blsnb.engine import readings

        self._lifetime.check_open()
        with self._lock:
            if self._monitor is None or self._monitor.closed:
                release = partial(readings.unwatch, self._engine.catalog)
                self._monitor = Monitor(self.reading, release)
            return self._monitor

    def close(self) -> None:
        """Close the monitor."""
        if self._monitor is not None:
            self._monitor.close()
