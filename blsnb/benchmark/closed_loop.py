"""Clients on threads of their own that send a request after each response."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass

from blsnb.benchmark.samples import Sample
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.threads.workers import Workers
from blsnb.errors import InferenceError
from blsnb.parts.requests import ClientRequest, ClientRequests
from blsnb.trace.run_record import RunRecord

Tick = Callable[[float], None]
_now = time.monotonic_ns
_TICK_S = 0.1
MAX_CLIENTS = 1024
GRACE_S = 0.3
"""Seconds that requests have to end after the end of their level."""
MIN_DRAIN_S = 2.0
"""Minimum of seconds that responses are awaited after the end of a level."""
_MAX_DURATION_S = 86_400
_MAX_REQUESTS = 1_000_000


@dataclass(frozen=True)
class Load:
    """The request of each client, and the limits of a level.

    Parameters
    ----------
    request
        The request.
    duration_s
        Seconds in which clients send requests; later responses are awaited.
    requests
        Maximum number of requests of all clients together.

    Raises
    ------
    ValueError
        A number is out of range.
    """

    request: ClientRequest
    duration_s: float
    requests: int

    def __post_init__(self) -> None:
        if not 0 < self.duration_s <= _MAX_DURATION_S:
            raise ValueError(
                f"duration_s={self.duration_s!r} is not valid; expected more than 0 "
                f"and at most {_MAX_DURATION_S}"
            )
        if not 1 <= self.requests <= _MAX_REQUESTS:
            raise ValueError(
                f"requests={self.requests!r} is not valid; expected 1 to "
                f"{_MAX_REQUESTS}"
            )


class Level:
    """One level of load: the requests in flight, and the measurements."""

    def __init__(self, duration_s: float, requests: int) -> None:
        self._duration_s = duration_s
        self._requests = requests
        self.began = time.monotonic()
        self._numbers = itertools.count(1)
        self._stopped = False
        self._abandoned = False
        self.samples: list[Sample] = []
        self._open: dict[int, Callable[[], None]] = {}
        self.interrupted = False
        self.unfinished = 0
        """Number of abandoned requests."""

    @property
    def continues(self) -> bool:
        """Whether a client may send another request."""
        if self._stopped or self.elapsed_s >= self._duration_s:
            return False
        return next(self._numbers) <= self._requests

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.began

    def stop(self) -> None:
        """Stop the clients from sending further requests."""
        self._stopped = True

    def abandon(self) -> None:
        """Cancel the requests in flight; they do not count."""
        self._abandoned = True
        self.stop()
        cancels = list(self._open.values())
        self.unfinished = len(cancels)
        for cancel in cancels:
            cancel()

    def begun(self, client: int, cancel: Callable[[], None]) -> None:
        """Add a request in flight, and the function that cancels it."""
        self._open[client] = cancel
        if self._abandoned:
            cancel()

    def add(self, client: int, sample: Sample) -> None:
        """Add the measurement of a request."""
        self._open.pop(client, None)
        if not self._abandoned:
            self.samples.append(sample)


class ClosedLoop:
    """Runs levels of load one after the other, and owns the clients' threads.

    Parameters
    ----------
    record
        Returns a new record for a request.
    stream
        Whether a request has any number of responses.
    """

    def __init__(
        self,
        requests: ClientRequests,
        load: Load,
        record: Callable[[], RunRecord],
        stream: bool,
    ) -> None:
        self._requests = requests
        self._load = load
        self._record = record
        self.stream = stream
        self._workers = Workers(MAX_CLIENTS, "blsnb bench")

    def __enter__(self) -> ClosedLoop:
        return self

    def __exit__(self, *_: object) -> None:
        # A model that never returns keeps its thread, as after Ctrl-C.
        self._workers.shutdown(cancel_futures=True)

    def run(self, concurrency: int, tick: Tick, requests: int | None = None) -> Level:
        """Run one level. Ctrl-C ends it with the measurements so far.

        Parameters
        ----------
        tick
            Called with the elapsed share of the time, ten times a second.
        requests
            Maximum number of requests; that of the load if None.

        Raises
        ------
        BlsnbError
            No request could be made: an input has a wrong type, the server was
            closed, or no thread is left for a client.
        """
        load = self._load
        most = load.requests if requests is None else requests
        level = Level(load.duration_s, most)
        futures: list[Future[None]] = []
        try:
            for client in range(concurrency):
                futures.append(self._workers.submit(self._run_client, level, client))
            self._wait(level, futures, tick)
        except KeyboardInterrupt:
            level.interrupted = True
        finally:
            _end(level, futures)
        for future in futures:
            if future.done() and not future.cancelled():
                future.result()
        return level

    def _wait(self, level: Level, futures: list[Future[None]], tick: Tick) -> None:
        duration_s = self._load.duration_s
        until_s = duration_s + max(duration_s, MIN_DRAIN_S)
        waiting: set[Future[None]] = set(futures)
        while waiting and level.elapsed_s < until_s:
            done, waiting = wait(waiting, timeout=_TICK_S)
            tick(level.elapsed_s / duration_s)
            if any(future.exception() for future in done):
                return

    def _run_client(self, level: Level, client: int) -> None:
        send = self._stream if self.stream else self._infer
        while level.continues:
            level.add(client, send(level, client))

    def _infer(self, level: Level, client: int) -> Sample:
        def begun(root: RootRequest) -> None:
            level.begun(client, lambda: _cancel(root))

        error = ""
        began_ns = _now()
        try:
            self._requests.run(self._load.request, begun, self._record())
        except InferenceError as failure:
            error = _text(failure)
        ended_ns = _now()
        return Sample(began_ns, ended_ns, ended_ns, 1, error)

    def _stream(self, level: Level, client: int) -> Sample:
        error = ""
        responses = first_ns = 0
        began_ns = _now()
        try:
            stream = self._requests.stream(self._load.request, self._record())
            level.begun(client, stream.cancel)
            for response in stream:
                first_ns = first_ns or _now()
                responses += bool(response.outputs)
                error = error or response.error or ""
        except InferenceError as failure:
            error = _text(failure)
        ended_ns = _now()
        return Sample(began_ns, first_ns or ended_ns, ended_ns, responses, error)


def _end(level: Level, futures: list[Future[None]]) -> None:
    """Wait for the requests in flight, then cancel them."""
    level.stop()
    _, waiting = wait(futures, timeout=GRACE_S)
    if waiting:
        level.abandon()
        wait(waiting, timeout=GRACE_S)


def _cancel(root: RootRequest) -> None:
    """End an abandoned request, wherever it waits."""
    root.cancel()
    root.end(InferenceError("the bench is over", "CANCELLED"))


def _text(failure: InferenceError) -> str:
    return f"[{failure.code}] {failure.message}"
