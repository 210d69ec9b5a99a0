"""From what clients saw to rows: arithmetic alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blsnb.benchmark.level import Sample, Sending
from blsnb.benchmark.samples import NOTHING, Counts, open_row_of, row_of

US = 1_000


def samples(*latencies_us: int, error: str = "") -> list[Sample]:
    """Return requests that began one after the other."""
    found, now = [], 7 * US
    for latency in latencies_us:
        end = now + latency * US
        found.append(Sample(now, end, end, error=error))
        now = end
    return found


def counts(queue: tuple[int, int], infer: tuple[int, int], **sizes: int) -> Counts:
    """Return what a server counted; sizes as ``_4=2`` for two executions of four."""
    none = (queue[0], 0)
    phases = {
        "queue": queue,
        "compute_input": none,
        "compute_infer": infer,
        "compute_output": none,
    }
    return Counts(phases, {int(name[1:]): n for name, n in sizes.items()})


def test_latencies_are_numpys_percentiles():
    """They are of successful requests, in microseconds."""
    latencies = list(range(1, 201))
    row = row_of(2, samples(*latencies), NOTHING, stream=False)

    expected = np.percentile(latencies, [50, 90, 95, 99]).tolist()
    assert expected == [row.p50_us, row.p90_us, row.p95_us, row.p99_us]
    assert 100.5 == row.mean_us
    assert (2, 200, 0) == (row.concurrency, row.requests, row.failed)


def test_throughput_is_successful_requests_by_their_duration():
    """The duration is from the first request to the last response."""
    row = row_of(1, samples(*[10_000] * 50), NOTHING, stream=False)

    assert 0.5 == row.duration_s
    assert 100 == row.throughput


def test_errors_are_counted_by_text_and_have_no_latency():
    """A rejection is quick and would look like a fast response."""
    failed = samples(1, 1, error="no") + samples(1, error="never")
    row = row_of(1, samples(100, 300) + failed, NOTHING, stream=False)

    assert (2, 3) == (row.requests, row.failed)
    assert {"no": 2, "never": 1} == row.errors
    assert (200, 200) == (row.mean_us, row.p50_us)


def test_without_a_response_there_are_no_latencies():
    """They are NaN instead of 0."""
    for given_samples in (samples(5, error="no"), []):
        row = row_of(1, given_samples, NOTHING, stream=True)
        assert 0 == row.throughput
        latencies = (row.mean_us, row.p50_us, row.p99_us, row.first_p50_us)
        assert all(map(math.isnan, (*latencies, row.queue_us, row.batch_size)))


def test_a_stream_has_a_first_and_a_last_response():
    """The latency is that of the last response."""
    found = [
        Sample(US, 4 * US, 10 * US, responses=4),
        Sample(2 * US, 7 * US, 11 * US, 4),
    ]
    row = row_of(2, found, NOTHING, stream=True)

    assert (9, 4, 8) == (row.p50_us, row.first_p50_us, row.responses)
    assert math.isnan(row_of(2, found, NOTHING, stream=False).first_p50_us)


def test_phases_and_batches_are_the_servers_increments():
    """They are means over the level."""
    before = counts((2, 100 * US), (2, 50 * US), _1=2)
    after = counts((6, 140 * US), (6, 250 * US), _1=2, _2=1, _4=3)
    row = row_of(1, samples(1), after.since(before), stream=False)

    assert (10, 50, 50) == (row.queue_us, row.compute_infer_us, row.compute_us)
    assert {2: 1, 4: 3} == row.batch_sizes
    assert 3.5 == row.batch_size


def test_a_reloaded_model_counts_from_its_load():
    """Its counters have restarted: a difference would be negative."""
    before = counts((9, 900 * US), (9, 90 * US), _1=9)
    after = counts((3, 30 * US), (3, 60 * US), _1=3)

    assert after == after.since(before)
    assert counts((0, 0), (0, 0)) == before.since(before)


def test_an_open_loop_leaves_out_the_requests_of_its_warm_up():
    """One that began when the warm-up ended is measured."""
    sending = Sending(sent=30, window_s=0.25, peak=7, growth=2, warm_ns=5, unsent=1)
    found = [Sample(began, 0, began + 4 * US) for began in (4, 5, 6)]
    row = open_row_of(50, found, NOTHING, sending, stream=False, unfinished=3)

    assert (7, 2, 3) == (row.concurrency, row.requests, row.unfinished)
    assert (50.0, 120.0, 2, 1) == (row.rate, row.sent_rate, row.growth, row.unsent)
    assert math.isnan(row.p50_error_us)
    none = open_row_of(50, [], NOTHING, Sending(), stream=False)
    assert (0.0, 0, 0) == (none.sent_rate, none.concurrency, none.unfinished)


@pytest.mark.parametrize(("took_us", "expected"), [(1_000, 10), (400_000, 5)])
def test_an_open_loop_has_the_throughput_of_its_whole_schedule(took_us, expected):
    """The last request takes an interval, too, or longer; the warm-up counts."""
    sending = Sending(sent=3, window_s=0.3, warm_ns=30_000_000)
    began = [n * 100_000_000 for n in range(3)]
    found = [Sample(each, 0, each + took_us * US) for each in began]
    row = open_row_of(10, found, NOTHING, sending, stream=False)

    assert (2, pytest.approx(expected)) == (row.requests, row.throughput)


def test_errors_of_percentiles_are_those_of_ten_blocks():
    """With fewer than five requests in a block they are not known."""
    times = np.array([n // 5 * (n % 5) for n in range(50)])
    found = [Sample(n, 0, n + int(time) * US) for n, time in enumerate(times)]
    whole, less = (
        open_row_of(1, each, NOTHING, Sending(), stream=False)
        for each in (found, found[1:])
    )

    # Block n has latencies of 0, n, 2n, 3n and 4n µs.
    unit = 2.262 * np.std(range(10), ddof=1) / math.sqrt(10)
    assert [2 * unit, 3.96 * unit] == pytest.approx(
        [whole.p50_error_us, whole.p99_error_us]
    )
    assert [True, True] == [*map(math.isnan, (less.p50_error_us, less.p99_error_us))]


def test_counters_are_those_of_tritons_statistics():
    """Each phase has a number and a sum."""
    names = ("queue", "compute_input", "compute_infer", "compute_output")
    stats = {
        name: {"count": str(number), "ns": number * 10}
        for number, name in enumerate((*names, "success"))
    }
    found = Counts.of({"inference_stats": stats}, {4: 2})

    assert (
        {name: (number, number * 10) for number, name in enumerate(names)},
        {4: 2},
    ) == found
    row = row_of(1, samples(1), found, stream=False)
    assert (0.01, 0.01, 0.01) == (
        row.compute_input_us,
        row.compute_infer_us,
        row.compute_output_us,
    )


@pytest.mark.parametrize("stream", [False, True])
@given(st.lists(st.tuples(st.integers(0, 10**9), st.booleans()), max_size=40))
def test_no_request_is_lost(stream, requests):
    """Successful and failed ones are all; percentiles are ordered and in range."""
    found = [Sample(0, ns, ns, error="no" if failed else "") for ns, failed in requests]
    row = row_of(3, found, NOTHING, stream=stream)

    assert len(requests) == row.requests + row.failed
    assert row.failed == sum(row.errors.values())
    if row.requests:
        answered = [ns / US for ns, failed in requests if not failed]
        low, high = min(answered), max(answered)
        quantiles = [low, row.p50_us, row.p90_us, row.p95_us, row.p99_us, high]
        assert sorted(quantiles) == pytest.approx(quantiles)
