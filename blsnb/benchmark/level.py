"""One level of load: the requests in flight, and their measurements."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from threading import Event
from typing import NamedTuple

from blsnb.arguments import check_positive, check_whole

MAX_CLIENTS = 1024
"""Maximum number of requests in flight."""
_MAX_DURATION_S = 86_400
_MAX_REQUESTS = 1_000_000
GRACE_S = 0.3
"""Seconds that requests have to end after the end of their level."""
MIN_DRAIN_S = 2.0
"""Minimum of seconds that responses are awaited after the end of a level."""


class Sample(NamedTuple):
    """One request as measured by its client.

    Parameters
    ----------
    began_ns, first_ns, ended_ns
        Monotonic times of the request, of its first and of its last response.
    responses
        Number of responses.
    error
        Text of the failure; empty if the request succeeded.
    """

    began_ns: int
    first_ns: int
    ended_ns: int
    responses: int = 1
    error: str = ""


@dataclass
class Sending:
    """How the requests of an open loop were sent.

    Parameters
    ----------
    sent, unsent
        Number of requests, and of those left when too many were in flight.
    window_s
        Seconds of the schedule, and of the delay of the last request.
    peak
        Maximum number of requests in flight.
    growth
        Number of requests in flight at the end beyond those after the warm-up.
    warm_ns
        Monotonic time before which requests are not measured.
    """

    sent: int = 0
    window_s: float = 0.0
    peak: int = 0
    growth: int = 0
    warm_ns: int = 0
    unsent: int = 0


@dataclass(frozen=True)
class Load:
    """The limits of a level.

    Parameters
    ----------
    duration_s
        Seconds in which clients send requests; later responses are awaited.
    requests
        Maximum number of requests of all clients together.

    Raises
    ------
    TypeError
        A number has another type.
    ValueError
        A number is out of range.
    """

    duration_s: float
    requests: int

    def __post_init__(self) -> None:
        check_positive(_MAX_DURATION_S, duration_s=self.duration_s)
        check_whole(1, _MAX_REQUESTS, requests=self.requests)
        object.__setattr__(self, "requests", int(self.requests))

    def count(self, rate: float) -> int:
        """Return the number of requests at a rate, at least one."""
        return max(1, min(self.requests, round(rate * self.duration_s)))


class Level:
    """One level of load: the requests in flight, and the measurements.

    Parameters
    ----------
    duration_s
        Seconds in which requests are sent.
    """

    def __init__(self, duration_s: float) -> None:
        self.duration_s = duration_s
        self.began = time.monotonic()
        self.stopped = Event()
        """Set when no further request is to be sent."""
        self._abandoned = False
        self.samples: list[Sample] = []
        self._open: dict[int, Callable[[], None]] = {}
        self.sending = Sending()
        self.interrupted = False
        self.unfinished = 0
        """Number of abandoned requests."""

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.began

    @property
    def drain_until_s(self) -> float:
        """Seconds from the start until which responses are awaited."""
        return self.duration_s + max(self.duration_s, MIN_DRAIN_S)

    def end(self, futures: list[Future[None]]) -> None:
        """Wait for the requests in flight, then cancel them."""
        self.stopped.set()
        _, waiting = wait(futures, timeout=GRACE_S)
        if waiting:
            # They do not count.
            self._abandoned = True
            cancels = list(self._open.values())
            self.unfinished = len(cancels)
            for cancel in cancels:
                cancel()
            wait(waiting, timeout=GRACE_S)

    def begun(self, number: int, cancel: Callable[[], None]) -> None:
        """Add a request in flight, and the function that cancels it.

        Parameters
        ----------
        number
            Number of the client in a closed loop, of the request in an open one.
        """
        self._open[number] = cancel
        if self._abandoned:
            cancel()

    def add(self, number: int, sample: Sample) -> None:
        """Add the measurement of a request."""
        self._open.pop(number, None)
        if not self._abandoned:
            self.samples.append(sample)


def raise_errors(futures: list[Future[None]]) -> None:
    """Raise the error of a client that could not make its request."""
    for future in futures:
        if future.done() and not future.cancelled():
            future.result()
