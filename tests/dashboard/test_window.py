"""Rates and percentiles of readings, which carry the time."""

import math

import pytest

from blsnb.dashboard.window import Window
from blsnb.engine.readings import Reading, VersionReading
from blsnb.views.live.overview import ModelRow

S = 1_000_000_000
MS = 1_000_000


def reading(seconds, *versions, in_flight=0):
    """Counters as they were then."""
    return Reading(int(seconds * S), in_flight, versions)


def version(name="double", succeeded=0, failed=0, **counts):
    """One version that serves."""
    return VersionReading(
        name, 1, "READY", succeeded=succeeded, failed=failed, **counts
    )


@pytest.fixture
def window():
    return Window()


def test_one_reading_has_no_rate(window):
    """Unknown numbers are NaN, not 0."""
    overview = window.add(reading(0, version(succeeded=7, waiting=2), in_flight=3))
    [row] = overview.rows

    assert math.isnan(overview.per_second)
    assert math.isnan(row.per_second)
    assert (3, 1, ()) == (overview.in_flight, overview.looks, overview.history)
    assert ModelRow("double", 1, "READY", waiting=2, requests=7) == row


def test_a_rate_is_that_of_the_last_five_seconds(window):
    """What ended before no longer counts."""
    window.add(reading(0, version()))
    window.add(reading(1, version(succeeded=1000)))
    for second in range(2, 6):
        window.add(reading(second, version(succeeded=1000)))
    [row] = window.add(reading(6, version(succeeded=1010))).rows

    assert 2 == row.per_second


def test_failures_count_in_the_rate_and_separately(window):
    """A request that failed has ended, too."""
    window.add(reading(0, version(succeeded=4, failed=1)))
    state = {"reason": "slow", "busy": 1, "instances": 2, "waiting": 4}
    [row] = window.add(reading(2, version(succeeded=6, failed=3, **state))).rows

    rates = {"per_second": 2, "requests": 9, "failed": 3, "failed_lately": 2}
    queued = {"queued_us": 0}
    assert ModelRow("double", 1, "READY", **state, **rates, **queued) == row


def test_a_reloaded_model_counts_from_0(window):
    """No rate is negative."""
    window.add(reading(0, version(succeeded=100)))
    [row] = window.add(reading(1, version(succeeded=5))).rows

    assert 5 == row.per_second


def test_a_model_that_came_later_has_a_rate_at_once(window):
    """An unloaded model has no row."""
    window.add(reading(0, version("old", succeeded=9)))
    overview = window.add(reading(2, version("new", succeeded=6)))

    assert [("new", 3)] == [(row.name, row.per_second) for row in overview.rows]
    assert 3 == overview.per_second


def test_batches_and_waits_are_means_of_the_last_five_seconds(window):
    """They are computed from Triton's counters."""
    before = version(succeeded=9, inferences=9, executions=9, queued_ns=9 * S)
    window.add(reading(0, before))
    now = version(succeeded=15, inferences=21, executions=12, queued_ns=9 * S + 3 * MS)
    [row] = window.add(reading(2, now)).rows

    assert (4, 500) == (row.batch, row.queued_us)
    wait_ns = now.queued_ns + 2 * MS
    one = version(succeeded=16, inferences=24, executions=13, queued_ns=wait_ns)
    [row] = window.add(reading(9, one)).rows
    assert (3, 2000) == (row.batch, row.queued_us)
    [row] = window.add(reading(20, one)).rows
    [row] = window.add(reading(22, one)).rows
    assert math.isnan(row.batch)
    assert math.isnan(row.queued_us)
    [row] = window.add(reading(23, one._replace(failed=2, executions=15))).rows
    assert math.isnan(row.batch)


def test_percentiles_are_those_of_requests_of_the_last_minute(window):
    """The smallest time that the percentage does not exceed."""
    latest = tuple((90 * S, n * MS) for n in range(1, 101))
    old = tuple((20 * S, 10 * S) for _ in range(100))
    [row] = window.add(reading(100, version(latest=old + latest))).rows

    assert (50_000, 95_000, 99_000) == (row.p50_us, row.p95_us, row.p99_us)


def test_without_recent_requests_there_is_no_percentile(window):
    """Failed requests do not count."""
    [row] = window.add(reading(100, version(failed=3, latest=((S, MS),)))).rows

    assert math.isnan(row.p50_us)
    assert math.isnan(row.p95_us)


def test_the_history_has_a_point_of_each_reading_and_is_bounded(window):
    """The oldest points are dropped."""
    for look in range(200):
        overview = window.add(reading(look / 2, version(succeeded=look**2)))

    assert 120 == len(overview.history)
    assert (199**2 - 198**2) * 2 == overview.history[-1]
    assert 200 == overview.looks


def test_two_readings_of_one_moment_divide_by_nothing(window):
    """A clock may stand still."""
    window.add(reading(1, version(succeeded=1)))
    overview = window.add(reading(1, version(succeeded=5)))

    assert 0 == overview.per_second
    assert math.isnan(overview.rows[0].per_second)
