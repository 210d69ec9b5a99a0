"""What is measured of a request, and of the requests of a level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


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
