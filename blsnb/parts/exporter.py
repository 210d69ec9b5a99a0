"""The export of a server's runs, or samples of them, to an OpenTelemetry Collector."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from typing import TYPE_CHECKING

from blsnb.engine.threads.start import start
from blsnb.errors import BlsnbError
from blsnb.printable import counted
from blsnb.trace.events import Call
from blsnb.trace.facts import TraceContext
from blsnb.trace.recorder import Recorder
from blsnb.trace.run_record import RunRecord

if TYPE_CHECKING:
    from blsnb.otlp.encoding import Json

MAX_RUNS = 2_000
"""Maximum number of ended runs that wait to be converted."""
MAX_RUN_BYTES = 64 << 20
"""Maximum bytes of their tensor values, which the conversion releases."""
MAX_WAITING_SPANS = 20_000
"""Maximum number of spans that wait for the Collector."""
_DELAY_S = 0.5
"""Seconds that spans are gathered before they are sent."""
_RETRY_S = 5.0
"""Seconds until the next attempt after a failed one."""
_TIMEOUT_S = 5.0
"""Seconds until the Collector must have answered a message."""
_FLUSH_S = 2.0
"""Seconds in which the last messages begin when the server is closed."""
_log = logging.getLogger("blsnb.otlp")


class RequestSampler:
    """Takes one request of ``rate``, at most ``count``. Thread-safe.

    A request with a valid ``traceparent`` is taken whatever the rate, and beyond the
    maximum.

    Parameters
    ----------
    rate
        One in this many requests is taken; 0 for those with a ``traceparent`` only.
    count
        Maximum number of requests; -1 for no limit, 0 to take none.

    Raises
    ------
    ValueError
        A number is invalid.

    References
    ----------
    server: src/tracer.cc, TraceSetting::SampleTrace
    """

    def __init__(self, rate: int = 1, count: int = -1) -> None:
        if rate < 0:
            raise ValueError(f"otlp_rate={rate!r} is not valid; expected 0 or more")
        if count < -1:
            raise ValueError(
                f"otlp_count={count!r} is not valid; expected -1 for no limit, or the "
                "maximum number of requests"
            )
        self._lock = threading.Lock()
        self.change(rate, count, is_on=count != 0)

    def change(self, rate: int, count: int, *, is_on: bool = True) -> None:
        """Set both values, and begin to count anew; take none at all if not on.

        Without a rest of the count, requests with a ``traceparent`` are still taken.
        """
        with self._lock:
            self._rate, self._left, self._seen = rate, count, 0
            self._is_on = is_on

    @property
    def left(self) -> int:
        """Rest of the count; negative for no limit."""
        return self._left

    def takes(self, has_context: bool = False) -> bool:
        """Return whether the next request is taken."""
        with self._lock:
            if not self._is_on:
                return False
            self._seen += 1
            is_next = bool(self._rate and self._left) and self._seen % self._rate == 0
            self._left -= is_next and self._left > 0
            return is_next or has_context


class Exporter:
    """Sends the sampled runs of a recorder after their end, on a thread of its own.

    A request only appends its run to a queue of limited length. Without a Collector
    the oldest runs and spans are dropped and counted.

    Raises
    ------
    ValueError
        The URL is invalid.
    """

    def __init__(self, recorder: Recorder, url: str, sampler: RequestSampler) -> None:
        from blsnb.otlp.sending import endpoint_of

        self.sampler = sampler
        self._endpoint = endpoint_of(url)
        self._changed = threading.Condition()
        self._runs: deque[RunRecord] = deque()
        self._run_bytes = 0
        self._spans: deque[Json] = deque()
        self._thread: threading.Thread | None = None
        self._end_s: float | None = None
        """Monotonic time at which the thread ends; None while the server is open."""
        self._is_failing = False
        self._dropped_spans = self._dropped_runs = 0
        """Spans that the Collector did not take in time, and runs without spans yet."""
        self._stop_observing = recorder.observe(self._observe)

    def _observe(self, run: RunRecord, call: Call | None) -> None:
        if call is not None:
            if call.parent is None and not call.ended:
                self._choose(run)
        elif run.is_exported:
            run.is_exported = False
            self._add(run)

    def _choose(self, run: RunRecord) -> None:
        """Decide whether a run is sent, before a model may pass its context on."""
        run.is_exported = self.sampler.takes(run.context is not None)
        if not run.is_exported:
            run.context = None
        elif run.context is None:
            run.context = TraceContext(os.urandom(16).hex())

    def _add(self, run: RunRecord) -> None:
        with self._changed:
            self._runs.append(run)
            self._run_bytes += run.held_bytes
            while self._runs and self._is_full:
                self._run_bytes -= self._runs.popleft().held_bytes
                self._dropped_runs += 1
            if self._thread is None and self._end_s is None:
                thread = threading.Thread(
                    target=self._work, name="blsnb otlp", daemon=True
                )
                start(thread)
                self._thread = thread

    @property
    def _is_full(self) -> bool:
        return len(self._runs) > MAX_RUNS or self._run_bytes > MAX_RUN_BYTES

    def _work(self) -> None:
        wait_s = _DELAY_S
        while True:
            with self._changed:
                if self._end_s is None:
                    self._changed.wait(wait_s)
                is_last = self._end_s is not None
            wait_s = _DELAY_S
            try:
                self._convert()
                self._send()
            except Exception as error:
                self._report(error)
                wait_s = _RETRY_S
            if is_last:
                return

    def _convert(self) -> None:
        """Turn ended runs into spans, and release their values."""
        from blsnb.otlp.encoding import spans_of
        from blsnb.trace.capture import clock_of, trace_so_far

        with self._changed:
            runs, self._runs, self._run_bytes = self._runs, deque(), 0
        while runs:
            trace = trace_so_far(runs.popleft(), False)
            if trace.spans:
                self._spans += spans_of(trace, clock_of(trace))
        while len(self._spans) > MAX_WAITING_SPANS:
            self._spans.popleft()
            self._dropped_spans += 1

    def _left_s(self) -> float:
        return _TIMEOUT_S if self._end_s is None else self._end_s - time.monotonic()

    def _send(self) -> None:
        """Send the spans that wait; those of a failed message wait further."""
        from blsnb.otlp.encoding import document
        from blsnb.otlp.sending import MAX_SPANS, send

        while self._spans and (left_s := self._left_s()) > 0:
            count = min(MAX_SPANS, len(self._spans))
            message = [self._spans[place] for place in range(count)]
            send(document(message), self._endpoint, timeout_s=max(0.1, left_s))
            for _ in range(count):
                self._spans.popleft()
            if self._is_failing:
                self._is_failing = False
                _log.warning("spans are sent to %s again", self._endpoint)
            self._convert()

    def _report(self, error: Exception) -> None:
        """Log the first failure of several."""
        if self._is_failing:
            return
        self._is_failing = True
        if isinstance(error, BlsnbError):
            _log.warning("no spans are sent: %s", error)
        else:
            _log.exception("no spans are sent")

    def close(self) -> None:
        """End the thread; what waits is sent, but no message begins after 2 s."""
        self._stop_observing()
        with self._changed:
            self._end_s = time.monotonic() + _FLUSH_S
            self._changed.notify()
            thread = self._thread
        if thread is not None:
            thread.join(_FLUSH_S + _TIMEOUT_S)
        spans = self._dropped_spans + len(self._spans)
        runs = self._dropped_runs + len(self._runs)
        if spans or runs:
            lost = f"{counted(spans, 'span')} and {counted(runs, 'run')}"
            _log.warning("%s were not sent to %s", lost, self._endpoint)
