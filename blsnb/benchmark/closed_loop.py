"""ClosedLoop: clients on threads of their own, each asking anew once answered."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass

from blsnb.benchmark.samples import Sample
from blsnb.engine.request.client_request import ClientRequest
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.threads.workers import Workers
from blsnb.errors import InferenceError
from blsnb.parts.requests import ClientRequests
from blsnb.trace.recorder import RunRecord

Tick = Callable[[float], None]
_now = time.monotonic_ns
_TICK_S = 0.1
MOST_CLIENTS = 1024
GRACE_S = 0.3
"""How long requests may go on that were told to end."""
LEAST_DRAIN_S = 2.0
_MOST_S = 86_400
_MOST_REQUESTS = 1_000_000


@dataclass(frozen=True)
class Load:
    """What each client asks, and for how long.

    Parameters
    ----------
    duration_s
        So long clients ask anew; what was asked before is waited for.
    requests
        How many requests there are at most, of all clients together.

    Raises
    ------
    ValueError
        A number is out of range.
    """

    request: ClientRequest
    duration_s: float
    requests: int

    def __post_init__(self) -> None:
        if not 0 < self.duration_s <= _MOST_S:
            raise ValueError(
                f"duration_s must be more than 0 and at most {_MOST_S}, "
                f"not {self.duration_s!r}"
            )
        if not 1 <= self.requests <= _MOST_REQUESTS:
            raise ValueError(
                f"requests must be from 1 to {_MOST_REQUESTS}, not {self.requests!r}"
            )


class Level:
    """One level of load: what is on its way, and what was measured."""

    def __init__(self, duration_s: float, requests: int) -> None:
        self._duration_s = duration_s
        self._requests = requests
        self.began = time.monotonic()
        self._numbers = itertools.count(1)
        self._stopped = False
        self._left = False
        self.samples: list[Sample] = []
        self._open: dict[int, Callable[[], None]] = {}
        self.interrupted = False
        self.unfinished = 0
        """How many requests were left to themselves."""

    @property
    def goes_on(self) -> bool:
        """Whether a client may ask once more."""
        if self._stopped or self.elapsed_s >= self._duration_s:
            return False
        return next(self._numbers) <= self._requests

    @property
    def elapsed_s(self) -> float:
        """How long it has lasted."""
        return time.monotonic() - self.began

    def stop(self) -> None:
        """Let no client ask any more."""
        self._stopped = True

    def leave(self) -> None:
        """End what is on its way; it does not count."""
        self._left = True
        self.stop()
        leaving = list(self._open.values())
        self.unfinished = len(leaving)
        for leave in leaving:
            leave()

    def begun(self, client: int, leave: Callable[[], None]) -> None:
        """Note a request, and what ends it before its time."""
        self._open[client] = leave
        if self._left:
            leave()

    def add(self, client: int, sample: Sample) -> None:
        """Take what was measured of a request."""
        self._open.pop(client, None)
        if not self._left:
            self.samples.append(sample)


class ClosedLoop:
    """Runs levels of load, one after the other; the owner of the clients' threads.

    Parameters
    ----------
    record
        Returns the record of one request's run.
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
        self._workers = Workers(MOST_CLIENTS, "blsnb bench")

    def __enter__(self) -> ClosedLoop:
        return self

    def __exit__(self, *_: object) -> None:
        # A model that does not come back keeps its thread, as after Ctrl-C.
        self._workers.shutdown(cancel_futures=True)

    def run(self, concurrency: int, tick: Tick, requests: int | None = None) -> Level:
        """Run one level; Ctrl-C ends it with what was measured until then.

        Parameters
        ----------
        tick
            Told the share of the time that is over, ten times a second.
        requests
            How many there are at most; as in all levels if None.

        Raises
        ------
        BlsnbError
            No request could be made: an input is of a type that Triton has not, the
            server was closed, or no thread is left for a client.
        """
        load = self._load
        most = load.requests if requests is None else requests
        level = Level(load.duration_s, most)
        futures: list[Future[None]] = []
        try:
            for client in range(concurrency):
                futures.append(self._workers.submit(self._ask_on, level, client))
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
        until_s = duration_s + max(duration_s, LEAST_DRAIN_S)
        waiting: set[Future[None]] = set(futures)
        while waiting and level.elapsed_s < until_s:
            done, waiting = wait(waiting, timeout=_TICK_S)
            tick(level.elapsed_s / duration_s)
            if any(future.exception() for future in done):
                return

    def _ask_on(self, level: Level, client: int) -> None:
        ask = self._ask_stream if self.stream else self._ask
        while level.goes_on:
            level.add(client, ask(level, client))

    def _ask(self, level: Level, client: int) -> Sample:
        def begun(root: RootRequest) -> None:
            level.begun(client, lambda: _leave(root))

        error = ""
        began_ns = _now()
        try:
            self._requests.run(self._load.request, begun, self._record())
        except InferenceError as failure:
            error = _text(failure)
        ended_ns = _now()
        return Sample(began_ns, ended_ns, ended_ns, 1, error)

    def _ask_stream(self, level: Level, client: int) -> Sample:
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
    """Let what is on its way end, then end it."""
    level.stop()
    _, waiting = wait(futures, timeout=GRACE_S)
    if waiting:
        level.leave()
        wait(waiting, timeout=GRACE_S)


def _leave(root: RootRequest) -> None:
    """End a request that nobody waits for any more, wherever it waits."""
    root.cancel()
    root.end(InferenceError("the bench is over", "CANCELLED"))


def _text(failure: InferenceError) -> str:
    return f"[{failure.code}] {failure.message}"
