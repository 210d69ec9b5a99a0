"""Loads of a calibration, and what they took."""

from __future__ import annotations

import pytest

from blsnb.benchmark.level import Load
from blsnb.benchmark.sample import Sample
from blsnb.errors import TritonServerError
from blsnb.parity.triton.executed import Executed
from blsnb.planning.triton.phases import Loaded, arriving


class Counting:
    """A server that counts requests; each one is answered at once."""

    pid = None
    stream = False

    def __init__(self, error: str = "") -> None:
        self.sent = 0
        self.error = error

    def sender(self, messages):
        """Return a client: this server itself."""
        return self

    def send(self, level, number, began_ns=0):
        """Answer a request after a microsecond."""
        self.sent += 1
        ended_ns = began_ns + 1_000
        level.add(number, Sample(began_ns, ended_ns, ended_ns, 1, self.error))

    def executions(self):
        """Return one execution of a nanosecond for each request."""
        return {"a": {1: Executed(self.sent, self.sent)}}


def test_a_warm_up_reaches_each_instance_several_times():
    """The first execution of an instance is slower; what is measured comes after it."""
    server = Counting()
    phase = Loaded(server, {"a": 1, "b": 6}).closed([], 1, Load(10, 40))

    assert (40, 58) == (phase.requests, phase.sent)
    assert {"a": {1: Executed(40, 40)}} == phase.executed


def test_requests_come_at_random_times_that_are_the_same_each_time():
    """A tenth of them is no part of the median, but of all costs."""
    server = Counting()
    arrivals = arriving(200, 0.5)
    phase = Loaded(server, {"a": 1}).opened([], arrivals)

    assert arriving(200, 0.5).times_ns == arrivals.times_ns
    assert (100, 1_000) == (phase.requests, phase.latency_ns)
    assert {"a": {1: Executed(100, 100)}} == phase.executed


def test_a_refused_request_ends_a_phase():
    """Its text is the reason."""
    with pytest.raises(TritonServerError, match="refused a request: no"):
        Loaded(Counting("no"), {"a": 1}).closed([], 1, Load(10, 5))
