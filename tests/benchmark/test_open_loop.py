"""Requests that are sent at given times: what is measured, and when it ends."""

from __future__ import annotations

import math
import threading
import time

import numpy as np
import pytest
import stage
from cells import CONFIG, cell

from blsnb.benchmark import level as levels
from blsnb.benchmark import open_loop
from blsnb.benchmark import samples as samples_module
from blsnb.benchmark.arrivals import Arrivals
from blsnb.benchmark.bench import Bench
from blsnb.benchmark.level import Level, Sample, Sending
from blsnb.benchmark.open_loop import run_open
from blsnb.benchmark.samples import NOTHING, open_row_of
from blsnb.engine.threads.workers import Workers

X = {"X": np.ones(2, np.float32)}
MS = 1_000_000
HOUR_S = 3600
WAIT_S = 60
COUNTS = cell("stage.seen.append(1)\nreturn [reply(x_of(request))]")


class FakeClient:
    """Answers each request when `released` is set."""

    stream = False

    def __init__(self):
        self.released = threading.Event()
        self.sent = threading.Semaphore(0)
        self.early_ns: list[int] = []
        """How long before its time each request was sent."""

    def send(self, level: Level, number: int, began_ns: int) -> None:
        """Wait, and measure the request as 1 ms long."""
        self.early_ns.append(began_ns - time.monotonic_ns())
        self.sent.release()
        assert self.released.wait(WAIT_S)
        level.add(number, Sample(began_ns, began_ns + MS, began_ns + MS))


@pytest.fixture
def workers():
    """The threads of a loop."""
    threads = Workers(levels.MAX_CLIENTS, "blsnb bench")
    yield threads
    threads.shutdown(cancel_futures=True)


def even(count: int, interval_ms: float) -> Arrivals:
    """Return even arrivals."""
    times = [int(number * interval_ms * MS) for number in range(count)]
    return Arrivals(1e3 / interval_ms, times, count * interval_ms / 1e3)


def ignore(share):
    """Receive the progress."""


def test_latency_counts_from_the_intended_time(workers):
    """However late a request is sent, its time is that of the schedule."""
    client = FakeClient()
    client.released.set()
    level = run_open(client, even(20, 1.0), workers, ignore)
    began = sorted(sample.began_ns for sample in level.samples)

    assert [number * MS for number in range(20)] == [each - began[0] for each in began]
    assert 20 == level.sending.sent


def test_no_request_is_sent_before_its_time(workers):
    """Its thread has it before, and waits."""
    client = FakeClient()
    client.released.set()
    run_open(client, even(20, 5.0), workers, ignore)

    assert 20 == len(client.early_ns)
    assert 0 >= max(client.early_ns)


def test_requests_are_sent_while_others_are_not_answered(workers):
    """A closed loop would wait for the first response."""
    client = FakeClient()
    release = threading.Thread(
        target=lambda: (
            [client.sent.acquire(timeout=WAIT_S) for _ in range(30)],
            client.released.set(),
        )
    )
    release.start()
    level = run_open(client, even(30, 0.1), workers, ignore)
    release.join(WAIT_S)

    assert (30, 30, 0) == (
        level.sending.peak,
        len(level.samples),
        level.unfinished,
    )


class Unanswered(FakeClient):
    """Begins each request, and never answers it."""

    def __init__(self):
        super().__init__()
        self.due_ns: list[int] = []

    def send(self, level: Level, number: int, began_ns: int) -> None:
        """Wait until the end of the level."""
        self.due_ns.append(began_ns)
        level.begun(number, self.released.set)
        super().send(level, number, began_ns)


def test_requests_that_pile_up_after_the_warm_up_are_counted(workers, monkeypatch):
    """The warm-up is a tenth of the time: four requests of forty begin in it."""
    monkeypatch.setattr(levels, "MIN_DRAIN_S", 0.05)
    client = Unanswered()
    level = run_open(client, even(40, 1.0), workers, ignore)

    assert min(client.due_ns) + 4 * MS == level.sending.warm_ns
    assert (40, 40, 40 - 3) == (
        level.sending.sent,
        level.sending.peak,
        level.sending.growth,
    )
    assert (40, []) == (level.unfinished, level.samples)
    assert 0.04 <= level.sending.window_s


def test_a_level_lasts_as_long_as_its_schedule(workers):
    """The last request takes an interval, too."""
    client = FakeClient()
    client.released.set()

    assert 0.03 <= run_open(client, even(1, 30.0), workers, ignore).elapsed_s


def test_responses_after_the_schedule_are_awaited(workers, monkeypatch):
    """They have as long as the level, and two seconds at least."""
    monkeypatch.setattr(levels, "GRACE_S", 0)
    client = FakeClient()
    answering = threading.Timer(0.02, client.released.set)
    answering.start()
    level = run_open(client, even(3, 1.0), workers, ignore)
    answering.join()

    assert (3, 0) == (len(level.samples), level.sending.unsent)


def test_too_many_requests_in_flight_end_a_level(workers, monkeypatch):
    """What was sent has no response: the rate is not held."""
    monkeypatch.setattr(open_loop, "MAX_CLIENTS", 25)
    monkeypatch.setattr(levels, "MIN_DRAIN_S", 0.05)
    monkeypatch.setattr(levels, "GRACE_S", 0.05)
    client = FakeClient()
    level = run_open(client, even(1000, 0.01), workers, ignore)
    client.released.set()
    row = open_row_of(100_000, level.samples, NOTHING, level.sending, stream=False)

    assert (25, 25) == (level.sending.sent, level.sending.peak)
    assert not row.is_held


def test_a_request_that_cannot_be_made_ends_a_level(workers):
    """Its error is raised."""

    class Broken(FakeClient):
        def send(self, level, number, began_ns):
            raise RuntimeError("no request")

    with pytest.raises(RuntimeError, match="no request"):
        run_open(Broken(), even(1000, 1e3), workers, ignore)


def test_ctrl_c_ends_a_level_with_its_measurements(workers, monkeypatch):
    """Also while no request is due; no further one is sent."""
    client = FakeClient()
    client.released.set()

    def interrupt(share):
        raise KeyboardInterrupt

    level = run_open(client, even(2, 1e6), workers, interrupt)

    assert level.interrupted
    assert 1 == level.sending.sent
    assert 0 < level.sending.window_s < 100


def samples(count: int, latency_ms: float = 1.0, start_ms: int = 0) -> list[Sample]:
    """Return even requests, one each millisecond."""
    return [
        Sample((start_ms + n) * MS, 0, int((start_ms + n + latency_ms) * MS))
        for n in range(count)
    ]


def test_the_warm_up_is_not_measured():
    """Slow first requests are in no number of the row."""
    sending = Sending(200, 0.2, 3, 0, warm_ns=20 * MS)
    found = samples(20, 50.0) + samples(180, 1.0, 20)
    row = open_row_of(1000, found, NOTHING, sending, stream=False)

    assert (180, 3, 1000.0) == (row.requests, row.concurrency, row.sent_rate)
    assert (1000.0, 1000.0) == (row.p50_us, row.p99_us)
    assert 0.0 == row.p50_error_us
    assert row.is_held


def test_few_requests_have_no_confidence_interval():
    """A block of fewer than five has no percentile worth the name."""
    sending = Sending(40, 0.04)
    row = open_row_of(1000, samples(40), NOTHING, sending, stream=False)

    assert math.isnan(row.p50_error_us)


@pytest.mark.parametrize(
    ("sent", "window_s", "growth", "held"),
    [
        (1000, 1.0, 10, True),
        (1000, 1.0, 49, True),
        (1000, 1.0, 60, False),
        (1000, 1.03, 0, False),
        (1000, 1.01, 0, True),
    ],
)
def test_a_rate_is_held_unless_requests_pile_up_or_are_late(
    sent, window_s, growth, held
):
    """A few more in flight at the end are chance."""
    sending = Sending(sent, window_s, 60, growth)
    row = open_row_of(1000, samples(1000), NOTHING, sending, stream=False)

    assert held == row.is_held


def test_a_server_is_measured_at_each_rate(server, monkeypatch):
    """The number of requests is that of the rate; none is sent twice."""
    # However busy this machine is.
    monkeypatch.setattr(samples_module.LoadRow, "is_held", True)
    server.define("model", COUNTS, config=CONFIG)
    bench = server.bench(
        "model", X, rate=[200, 400], duration_s=0.25, arrivals="constant"
    )

    assert [200.0, 400.0] == [row.rate for row in bench.rows]
    assert 1 + 50 + 100 == len(stage.seen)
    assert [0, 0] == [row.failed for row in bench.rows]


def test_rates_above_one_that_is_not_held_are_left_out(server, monkeypatch):
    """Lower ones are measured; the bench names both."""
    monkeypatch.setattr(open_loop, "MAX_CLIENTS", 5)
    monkeypatch.setattr(levels, "MIN_DRAIN_S", 0.05)
    monkeypatch.setattr(levels, "GRACE_S", 0.05)
    slow = cell("stage.sleep()\nreturn [reply(x_of(request))]")
    server.define("model", slow, config=CONFIG)
    bench = server.bench(
        "model", X, rate=[400, 300, 500], duration_s=0.1, warm_up_requests=0
    )

    assert [400.0, 300.0] == [row.rate for row in bench.rows]
    assert (500.0,) == bench.left_out
    assert "400 requests/s were not held" in str(bench)
    assert "not measured, as a lower rate was not held: 500" in str(bench)


def test_a_table_of_rates_has_what_was_wanted_and_sent():
    """The figure's axis is the rate."""
    sending = Sending(1000, 1.0, 4)
    row = open_row_of(1000, samples(1000), NOTHING, sending, stream=False)
    bench = Bench("m", "off", False, (row,), arrivals="constant")
    head, [cells] = bench.table()

    assert ("1,000", "1,000") == cells[:2]
    assert ("4", "1 ms ± 0 µs") == (
        cells[head.index("in flight")],
        cells[head.index("p50")],
    )
    assert "open loop, constant arrivals, latency from intended times" in bench.caption
    assert "requests sent per second" == bench.plot().axes[0].get_xlabel()
