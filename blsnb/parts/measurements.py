"""Measuring: what a server counts and measures of its models."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from blsnb.engine import readings
from blsnb.engine.request.client_request import ClientRequest
from blsnb.engine.request.validation import RequestError
from blsnb.parts.models import Models, told
from blsnb.trace.recorder import parse_level

if TYPE_CHECKING:
    from blsnb.benchmark.bench import Bench
    from blsnb.benchmark.measure import Progress
    from blsnb.benchmark.samples import Counts
    from blsnb.dashboard.monitor import Monitor
    from blsnb.engine.metrics.batching import ModelBatching


class Measuring(Models):
    """The part of a server that counts and measures."""

    _monitor: Monitor | None = None

    def statistics(
        self, name: str | None = None, *, version: int = -1
    ) -> dict[str, Any]:
        """Return Triton's statistics of one model, or of all that serve.

        Raises
        ------
        InferenceError
            The model does not serve; the text is Triton's.
        """
        try:
            return {"model_stats": self._engine.catalog.statistics(name, version)}
        except RequestError as error:
            raise told(error) from None

    def batching(self, name: str, *, version: int = -1) -> ModelBatching:
        """Return how a model's requests were batched, and why not together.

        The counts restart with every load, as those of `statistics` do.

        Parameters
        ----------
        version
            The newest that serves if -1.

        Raises
        ------
        InferenceError
            The model does not serve; the text is Triton's.
        """
        try:
            return self._engine.catalog.batching(name, version)
        except RequestError as error:
            raise told(error) from None

    def metrics(self) -> str:
        """Return Triton's metrics page: Prometheus' text format.

        It has ``nv_inference_*`` of every model that serves, and what models count
        themselves with ``pb_utils.MetricFamily``.
        """
        return self._engine.metrics_text()

    def monitor(self) -> Monitor:
        """Return what shows this server live, the same until it is closed.

        As the value of a cell it is a widget, as ``str()`` a table. Rates are those
        of the last five seconds; p50 to p99 are those of the latest requests of
        each model that succeeded, 512 at most and none from before the last minute.
        """
        from blsnb.dashboard.monitor import Monitor

        self._check_open()
        with self._monitor_lock:
            if self._monitor is None or self._monitor.closed:
                catalog = self._engine.catalog
                self._monitor = Monitor(
                    self._reading, partial(readings.unwatch, catalog)
                )
            return self._monitor

    def _reading(self) -> readings.Reading:
        engine = self._engine
        return readings.read(
            engine.catalog, len(engine.open_requests.in_flight()), time.monotonic_ns()
        )

    def _close_monitor(self) -> None:
        if self._monitor is not None:
            self._monitor.close()

    def bench(
        self,
        model_name: str,
        inputs: Mapping[str, Any],
        *,
        concurrency: Iterable[int] = (1, 2, 4, 8),
        duration_s: float = 5.0,
        requests: int = 100_000,
        warm_up_requests: int = 1,
        trace_level: str | None = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> Bench:
        """Measure a model under load, in a closed loop.

        At each level so many clients ask, each anew as soon as it was answered: a
        decoupled model by stream. Ctrl-C ends it with what was measured so far.

        Parameters
        ----------
        inputs
            Of every request, as for `infer`.
        concurrency
            The levels: numbers of clients.
        duration_s
            Seconds that clients ask at each level.
        requests
            How many requests there are at each level at most.
        warm_up_requests
            How many are made before the first level, and not measured.
        trace_level
            How much is recorded of each request, as it costs time; the server's own
            if None. The runs are not kept.
        progress
            Told the share that is done, and the level.
        options
            What `infer` takes besides.

        Returns
        -------
        Bench
            A row for each level; requests that failed are counted in it, by text.

        Raises
        ------
        InferenceError
            The model does not serve; the text is Triton's.
        InputError
            An input is of a type that Triton has not.
        ValueError
            A number is out of range, or there is no such trace level.
        """
        from blsnb.benchmark.bench import Bench
        from blsnb.benchmark.closed_loop import ClosedLoop, Load
        from blsnb.benchmark.measure import levels_of, measure

        self._check_open()
        levels = levels_of(concurrency)
        load = Load(ClientRequest(model_name, inputs, **options), duration_s, requests)
        level = self.recorder.level if trace_level is None else parse_level(trace_level)
        record = partial(self.recorder.unkept, level)
        counts = partial(self._counts, model_name, load.request.version)
        try:
            served = self._engine.catalog.find(model_name, load.request.version or -1)
            with ClosedLoop(self._requests, load, record, served.decoupled) as loop:
                measured = measure(loop, levels, counts, warm_up_requests, progress)
        except RequestError as error:
            raise told(error) from None
        return Bench(model_name, level.name.lower(), served.decoupled, *measured)

    def _counts(self, name: str, version: int | None) -> Counts:
        """Return what was counted of a model; nothing where it does not serve."""
        from blsnb.benchmark.samples import NOTHING, Counts

        catalog = self._engine.catalog
        number = -1 if version is None else version
        try:
            row = catalog.statistics(name, number)[-1]
            return Counts.of(row, catalog.batching(name, number).sizes)
        except RequestError:
            return NOTHING
